#include "lwsvm/layer_problem.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/units.h"
#include "engine/elementwise.h"
#include "lwsvm/last_layer.h"

namespace lwsvm {
namespace {

ProgramOptions tail_options(const Decomposition& decomposition) {
  ProgramOptions options;
  options.samples = TailRunner::chunk;
  options.target = decomposition.graph.output();
  options.input_gradients = {0};
  options.free_nodes = decomposition.free_nodes;
  options.record_patterns = true;
  options.image_layout = Layout::channels_last;
  return options;
}

std::vector<float> weights_of(const Graph& network, int node) {
  const auto begin = network.parameters().begin() + network.node(node).trained.begin;
  return {begin, begin + network.node(node).trained.size};
}

std::uint64_t bytes_of_floats(std::int64_t count) {
  return static_cast<std::uint64_t>(count) * sizeof(float);
}

std::optional<DenseEnd> exact_end(const Graph& network, const Tail& tail,
                                  const LayerProblemOptions& options) {
  return options.exact_svm_layer ? dense_end(network, tail) : std::nullopt;
}

// A list of at most every other class (label_blocks.h).
std::uint64_t most_label_bytes(std::int64_t samples, std::int64_t classes) {
  return static_cast<std::uint64_t>(samples * (4 + 12 * (classes - 1)));
}

// Of the layer: in float w_t (three times: problem, solver, update), the centre, w, the change of Psi and the
// candidate; in double Psi, w, the average and, for a candidate, the average's w and the point at which it is
// judged. Of the network: the start, the best, the centre, and a file that is being written, its weights
// three times.
std::uint64_t weight_bytes(const Graph& network, const Node& open) {
  return static_cast<std::uint64_t>(open.trained.size) * (7 * sizeof(float) + 6 * sizeof(double)) +
         network.parameters().size() * 6 * sizeof(float);
}

// All but the inputs: what cannot be computed again.
LayerMemory tail_memory(const LayerProblemOptions& options, const Decomposition& decomposition,
                        const Program& program, const Graph& network, int open_node, std::int64_t samples) {
  const Node& open = network.node(open_node);
  LayerMemory memory;
  // Also the layer's weights as its kernels have them, and the weights of the tail, decomposed and packed.
  memory.weights = weight_bytes(network, open) + bytes_of_floats(2 * open.trained.size) +
                   decomposition.graph.parameters().size() * 2 * sizeof(float);
  memory.patterns = PatternCache::bytes_for(program.replayed_patterns(), samples);
  const std::int64_t outputs = element_count(open.shape);
  const auto offsets = static_cast<std::uint64_t>(samples) * sizeof(double);
  if (decomposition.labels_only) {
    memory.form = "labels";
    memory.blocks = most_label_bytes(samples, decomposition.classes);
    return memory;
  }
  memory.slopes = slope_bytes_for(samples, outputs);
  const bool dense = open.layer->kind() == LayerKind::dense;
  memory.form = dense ? "factored" : "explicit";
  memory.blocks = offsets + (dense ? bytes_of_floats(samples * outputs)
                                   : std::min(bytes_of_floats(samples * open.trained.size),
                                              memory_for_blocks(options.memory)));
  return memory;
}

// What of the memory is left for the inputs once everything that cannot be recomputed has its share.
std::uint64_t left_for_inputs(const LayerMemory& taken, const LayerProblemOptions& options) {
  const std::uint64_t others = taken.without_inputs() + options.taken;
  return others < options.memory ? options.memory - others : 0;
}

// The plane that attains H_i: which label, and H's convex part.
struct BestLabel {
  int label = 0;
  double value = 0;  // max_y Delta + S_y, plus D_{y_i}
};

BestLabel best_label(const MarginMatrix& margins, int truth, const float* blocks,
                     const Decomposition& decomposition, std::vector<float>& buffer) {
  buffer.assign(blocks, blocks + decomposition.classes);
  BestLabel best;
  best.label = augment(margins, truth, buffer.data());
  best.value = static_cast<double>(buffer[static_cast<std::size_t>(best.label)]);
  if (decomposition.has_shared) best.value += static_cast<double>(blocks[decomposition.shared_at() + truth]);
  return best;
}

}  // namespace

TailRunner::TailRunner(const Graph& network, const Tail& tail, const SampleSource& source,
                       std::span<const std::int32_t> labels, const LayerProblemOptions& options,
                       const Threads& threads)
    : labels_(labels),
      threads_(threads),
      decomposition_(decompose(tail, options.free_layers, options.split)),
      program_(decomposition_.graph, tail_options(decomposition_)),
      layer_(network, tail.open_node, chunk),
      inputs_(network, tail, source, options.from, chunk,
              left_for_inputs(
                  tail_memory(options, decomposition_, program_, network, tail.open_node, source.size()),
                  options),
              threads),
      patterns_(program_.replayed_patterns(), source.size()) {
  program_.load(decomposition_.graph);
  for (int worker = 0; worker < threads.count(); ++worker) {
    Lane lane;
    lane.workspace = program_.make_workspace();
    // Chunks shorter than `chunk` leave the patterns behind them as they were: zeros, at worst, are indices
    // in range.
    std::fill(lane.workspace.patterns.begin(), lane.workspace.patterns.end(), std::uint8_t{0});
    lane.inputs.resize(static_cast<std::size_t>(chunk * layer_.input_size()));
    lane.outputs.resize(static_cast<std::size_t>(chunk * layer_.output_size()));
    std::fill(lane.inputs.begin(), lane.inputs.end(), 0.0f);
    lane.scratch.resize(layer_.scratch_floats());
    lane.packed.resize(layer_.packed_floats());
    lane.row.resize(static_cast<std::size_t>(layer_.output_size()));
    lanes_.push_back(std::move(lane));
  }
  record_at_anchor(weights_of(network, tail.open_node), options.memory);
}

void TailRunner::record_at_anchor(std::span<const float> anchor, std::uint64_t budget) {
  if (!decomposition_.labels_only) {
    const std::uint64_t wanted = slope_bytes_for(samples(), layer_.output_size());
    if (wanted > budget)
      fail("refine",
           "searching behind this layer needs {} for its concave slopes; raise --memory or use --search "
           "labels",
           format_bytes(static_cast<double>(wanted)));
    concave_slopes_.resize(static_cast<std::size_t>(samples() * layer_.output_size()));
    concave_offsets_.resize(static_cast<std::size_t>(samples()));
  }
  layer_.load(anchor);
  std::vector<std::int32_t> all(static_cast<std::size_t>(samples()));
  std::iota(all.begin(), all.end(), 0);
  for_chunks(all, [&](std::size_t, std::span<const std::int32_t> part, int worker) {
    const float* blocks = forward(part, worker, PatternUse::record);
    for (std::size_t i = 0; i < part.size(); ++i)
      patterns_.store(part[i], lane(worker).workspace.patterns.data(), static_cast<int>(i));
    if (decomposition_.labels_only) return;
    const int width = decomposition_.width(), concave = decomposition_.concave_at();
    for (std::size_t i = 0; i < part.size(); ++i)
      concave_offsets_[static_cast<std::size_t>(part[i])] = static_cast<double>(
          blocks[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(concave + label(part[i]))]);
    float* seed = clear_seeds(worker);
    for (std::size_t i = 0; i < part.size(); ++i)
      seed[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(concave + label(part[i]))] = 1.0f;
    const float* slopes = backward(worker);
    const std::int64_t size = layer_.output_size();
    for (std::size_t i = 0; i < part.size(); ++i) {
      const float* slope = slopes + static_cast<std::int64_t>(i) * size;
      std::copy_n(slope, size, concave_slopes_.data() + part[i] * size);
      concave_offsets_[static_cast<std::size_t>(part[i])] -=
          dot(slope, lane(worker).outputs.data() + static_cast<std::int64_t>(i) * size, size);
    }
  });
}

const float* TailRunner::forward(std::span<const std::int32_t> samples, int worker, PatternUse use) {
  Lane& l = lane(worker);
  l.targets.clear();
  l.targets.push_back(l.inputs.data());
  for (int part = 1; part < inputs_.parts(); ++part) l.targets.push_back(program_.input(l.workspace, part));
  inputs_.fetch(samples, l.targets, worker);
  layer_.forward(l.inputs.data(), chunk, l.outputs.data(), l.scratch.data());
  std::copy_n(l.outputs.data(), chunk * layer_.output_size(), program_.input(l.workspace));
  if (use == PatternUse::replay) load_patterns(samples, worker);
  program_.forward(l.workspace, use);
  return program_.output(l.workspace);
}

void TailRunner::load_patterns(std::span<const std::int32_t> samples, int worker) {
  for (std::size_t i = 0; i < samples.size(); ++i)
    patterns_.load(samples[i], lane(worker).workspace.patterns.data(), static_cast<int>(i));
}

float* TailRunner::clear_seeds(int worker) {
  float* seeds = program_.output_gradient(lane(worker).workspace);
  std::fill_n(seeds, chunk * decomposition_.width(), 0.0f);
  return seeds;
}

const float* TailRunner::backward(int worker) {
  program_.backward(lane(worker).workspace, nullptr);
  return program_.input_gradient(lane(worker).workspace);
}

void TailRunner::slope_rows(const float* slopes, std::size_t count, float* rows, int worker) {
  Lane& l = lane(worker);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    layer_.slope_row(l.inputs.data() + at * layer_.input_size(), slopes + at * layer_.output_size(),
                     rows + at * layer_.dimension(), l.packed.data(), l.scratch.data());
  }
}

namespace {

// Nothing behind the layer is free.
class LabelLayerModel final : public LabelModel {
 public:
  explicit LabelLayerModel(TailRunner& runner)
      : runner_(runner),
        factored_(runner.layer().output_size(), runner.layer().input_size(),
                  runner.layer().has_bias() ? Bias::yes : Bias::no, runner.threads()),
        explicit_(runner.layer().dimension(), runner.threads()) {}

  std::int64_t dimension() const override { return runner_.layer().dimension(); }

  void scores(std::span<const std::int32_t> samples, const Weights& w, std::span<float> out) override {
    runner_.layer().load(w.rounded);
    const auto classes = static_cast<std::size_t>(runner_.decomposition().classes);
    runner_.for_chunks(samples, [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
      const float* blocks = runner_.forward(part, worker);
      std::copy_n(blocks, part.size() * classes, out.data() + first * classes);
    });
  }

  const Directions& backward(std::span<const std::int32_t> samples, std::span<const std::int32_t> positions,
                             std::span<const float> seeds) override {
    OpenLayer& layer = runner_.layer();
    chosen_.clear();
    for (std::int32_t position : positions) chosen_.push_back(samples[static_cast<std::size_t>(position)]);
    const auto classes = static_cast<std::size_t>(runner_.decomposition().classes);
    const auto count = chosen_.size();
    if (layer.dense()) {
      slopes_.resize(count * static_cast<std::size_t>(layer.output_size()));
      inputs_.resize(count * static_cast<std::size_t>(layer.input_size()));
    } else {
      rows_.resize(count * static_cast<std::size_t>(layer.dimension()));
    }
    runner_.for_chunks(chosen_, [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
      runner_.load_patterns(part, worker);
      std::copy_n(seeds.data() + first * classes, part.size() * classes, runner_.clear_seeds(worker));
      const float* slopes = runner_.backward(worker);
      if (layer.dense()) {
        std::copy_n(slopes, static_cast<std::int64_t>(part.size()) * layer.output_size(),
                    slopes_.data() + first * static_cast<std::size_t>(layer.output_size()));
        runner_.inputs().fetch_inputs(
            part, inputs_.data() + first * static_cast<std::size_t>(layer.input_size()), worker);
      } else {
        runner_.inputs().fetch_inputs(part, runner_.lane(worker).inputs.data(), worker);
        runner_.slope_rows(slopes, part.size(),
                           rows_.data() + first * static_cast<std::size_t>(layer.dimension()), worker);
      }
    });
    if (layer.dense()) {
      factored_.look_at(static_cast<int>(count), slopes_.data(), inputs_.data());
      return factored_;
    }
    explicit_.look_at(static_cast<int>(count), rows_.data());
    return explicit_;
  }

 private:
  TailRunner& runner_;
  FactoredDirections factored_;
  ExplicitDirections explicit_;
  std::vector<std::int32_t> chosen_;
  std::vector<float> slopes_, inputs_, rows_;
};

// Planes of chunks with something free: shared by the factored and the explicit form.
class FreePlanes {
 public:
  FreePlanes(TailRunner& runner, const MarginMatrix& margins)
      : runner_(runner),
        margins_(margins),
        buffers_(static_cast<std::size_t>(runner.threads().count())),
        found_(buffers_.size()) {}

  // slopes (a row a sample): delta* at u; offsets: ell*. u is left in the worker's lane.
  void find(std::span<const std::int32_t> part, int worker, float* slopes, double* offsets) {
    const Decomposition& d = runner_.decomposition();
    const auto width = static_cast<std::size_t>(d.width());
    const std::int64_t size = runner_.layer().output_size();
    const std::vector<BestLabel>& found = best_labels(part, worker);
    float* seeds = runner_.clear_seeds(worker);
    for (std::size_t i = 0; i < part.size(); ++i) {
      seeds[i * width + static_cast<std::size_t>(found[i].label)] = 1.0f;
      if (d.has_shared)
        seeds[i * width + static_cast<std::size_t>(d.shared_at() + runner_.label(part[i]))] = 1.0f;
    }
    const float* convex = runner_.backward(worker);
    const float* outputs = runner_.lane(worker).outputs.data();
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i) * size;
      offsets[i] = found[i].value - runner_.concave_offset(part[i]) - dot(convex + at, outputs + at, size);
      subtract(convex + at, runner_.concave_slope(part[i]), size, slopes + at);
    }
  }

  // mean_i H_i(w): no backward pass, no plane.
  double mean_loss(const Weights& w) {
    runner_.layer().load(w.rounded);
    std::vector<std::int32_t> all(static_cast<std::size_t>(runner_.samples()));
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> losses(all.size());
    const std::int64_t size = runner_.layer().output_size();
    runner_.for_chunks(all, [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
      const std::vector<BestLabel>& found = best_labels(part, worker);
      const float* outputs = runner_.lane(worker).outputs.data();
      for (std::size_t i = 0; i < part.size(); ++i)
        losses[first + i] =
            found[i].value - runner_.concave_offset(part[i]) -
            dot(runner_.concave_slope(part[i]), outputs + static_cast<std::int64_t>(i) * size, size);
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
  }

 private:
  const std::vector<BestLabel>& best_labels(std::span<const std::int32_t> part, int worker) {
    const Decomposition& d = runner_.decomposition();
    const float* blocks = runner_.forward(part, worker);
    std::vector<float>& buffer = buffers_[static_cast<std::size_t>(worker)];
    std::vector<BestLabel>& found = found_[static_cast<std::size_t>(worker)];
    found.clear();
    for (std::size_t i = 0; i < part.size(); ++i)
      found.push_back(best_label(margins_, runner_.label(part[i]),
                                 blocks + i * static_cast<std::size_t>(d.width()), d, buffer));
    return found;
  }

  TailRunner& runner_;
  const MarginMatrix& margins_;
  std::vector<std::vector<float>> buffers_;
  std::vector<std::vector<BestLabel>> found_;
};

class FactoredLayerModel final : public FactoredModel {
 public:
  FactoredLayerModel(TailRunner& runner, const MarginMatrix& margins)
      : runner_(runner), planes_(runner, margins) {}

  std::int64_t samples() const override { return runner_.samples(); }
  std::int64_t outputs() const override { return runner_.layer().output_size(); }
  std::int64_t inputs() const override { return runner_.layer().input_size(); }
  Bias bias() const override { return runner_.layer().has_bias() ? Bias::yes : Bias::no; }

  void planes(std::span<const std::int32_t> samples, const Weights& w, FactoredPlanes& out) override {
    runner_.layer().load(w.rounded);
    const auto p = static_cast<std::size_t>(outputs()), q = static_cast<std::size_t>(inputs());
    runner_.for_chunks(samples, [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
      planes_.find(part, worker, out.slopes.data() + first * p, out.offsets.data() + first);
      std::copy_n(runner_.lane(worker).outputs.data(), part.size() * p, out.outputs.data() + first * p);
      std::copy_n(runner_.lane(worker).inputs.data(), part.size() * q, out.input_buffer.data() + first * q);
    });
  }
  std::optional<double> mean_loss(const Weights& w) override { return planes_.mean_loss(w); }

 private:
  TailRunner& runner_;
  FreePlanes planes_;
};

// Blocks are samples, or groups of consecutive samples where one psi a sample would not fit the memory.
class ExplicitLayerModel final : public ExplicitModel {
 public:
  ExplicitLayerModel(TailRunner& runner, const MarginMatrix& margins, std::uint64_t memory)
      : runner_(runner),
        planes_(runner, margins),
        slopes_(static_cast<std::size_t>(runner.threads().count())) {
    const std::uint64_t wanted = bytes_of_floats(runner.samples() * dimension());
    const std::uint64_t budget = std::max<std::uint64_t>(memory_for_blocks(memory), 1);
    group_ = static_cast<std::int64_t>(
        std::min((wanted + budget - 1) / budget, static_cast<std::uint64_t>(runner.samples())));
    group_ = std::max<std::int64_t>(group_, 1);
  }

  std::int64_t samples() const override { return runner_.samples(); }
  std::int64_t blocks() const override { return (samples() + group_ - 1) / group_; }
  std::int64_t dimension() const override { return runner_.layer().dimension(); }

  void planes(std::span<const std::int32_t> blocks, const Weights& w, ExplicitPlanes& out) override {
    runner_.layer().load(w.rounded);
    const auto n = static_cast<std::size_t>(dimension());
    chosen_.clear();
    owner_.clear();
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (std::int64_t i = blocks[b] * group_; i < std::min(samples(), (blocks[b] + 1) * group_); ++i) {
        chosen_.push_back(static_cast<std::int32_t>(i));
        owner_.push_back(b);
      }
    if (group_ == 1) {
      find(chosen_, out.rows.data(), out.offsets.data());
      return;
    }
    // Groups slice by slice: one psi a sample exists only for the samples of a slice.
    std::fill(out.offsets.begin(), out.offsets.end(), 0.0);
    std::fill(out.rows.begin(), out.rows.end(), 0.0f);
    for (std::size_t begin = 0; begin < chosen_.size(); begin += slice) {
      const std::size_t count = std::min(slice, chosen_.size() - begin);
      rows_.resize(count * n);
      offsets_.resize(count);
      find(std::span(chosen_).subspan(begin, count), rows_.data(), offsets_.data());
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t owner = owner_[begin + i];
        out.offsets[owner] += offsets_[i];
        add_to(rows_.data() + i * n, dimension(), out.rows.data() + owner * n);
      }
    }
  }
  std::optional<double> mean_loss(const Weights& w) override { return planes_.mean_loss(w); }

 private:
  static constexpr std::size_t slice = 4 * TailRunner::chunk;

  void find(std::span<const std::int32_t> samples, float* rows, double* offsets) {
    const auto n = static_cast<std::size_t>(dimension());
    runner_.for_chunks(samples, [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
      std::vector<float>& slopes = slopes_[static_cast<std::size_t>(worker)];
      slopes.resize(part.size() * static_cast<std::size_t>(runner_.layer().output_size()));
      planes_.find(part, worker, slopes.data(), offsets + first);
      runner_.slope_rows(slopes.data(), part.size(), rows + first * n, worker);
    });
  }

  TailRunner& runner_;
  FreePlanes planes_;
  std::int64_t group_ = 1;
  std::vector<std::int32_t> chosen_;
  std::vector<std::size_t> owner_;
  std::vector<float> rows_;
  std::vector<double> offsets_;
  std::vector<std::vector<float>> slopes_;
};

// The SVM layer's features: the inputs of the dense layer that it is.
class LayerFeatures final : public FeatureRows {
 public:
  LayerFeatures(LayerInputs& inputs, std::int64_t samples, const Threads& threads)
      : inputs_(inputs), samples_(samples), threads_(threads) {}

  std::int64_t samples() const override { return samples_; }
  std::int64_t width() const override { return inputs_.size(0); }
  const float* rows(std::span<const std::int32_t> samples, std::span<float> buffer) override {
    constexpr int chunk = TailRunner::chunk;
    threads_.for_each(static_cast<int>((samples.size() + chunk - 1) / chunk), [&](int piece, int worker) {
      const std::size_t first = static_cast<std::size_t>(piece) * chunk;
      inputs_.fetch_inputs(samples.subspan(first, std::min<std::size_t>(chunk, samples.size() - first)),
                           buffer.data() + first * static_cast<std::size_t>(width()), worker);
    });
    return buffer.data();
  }

 private:
  LayerInputs& inputs_;
  std::int64_t samples_;
  Threads threads_;
};

}  // namespace

struct LayerProblem::Models {
  MarginMatrix margins;
  std::optional<DenseEnd> end;  // whose layers svm_inputs_ runs
  std::unique_ptr<FeatureRows> features;
  std::unique_ptr<LabelModel> label;
  std::unique_ptr<FactoredModel> factored;
  std::unique_ptr<ExplicitModel> explicit_model;
  std::unique_ptr<Oracle> oracle;
};

LayerProblem::LayerProblem(const Graph& network, int open_node, const SampleSource& source,
                           const MarginMatrix& margins, const LayerProblemOptions& options,
                           const Threads& threads)
    : anchor_(weights_of(network, open_node)),
      tail_(cut_tail(network, open_node)),
      models_(new Models{margins, {}, {}, {}, {}, {}, {}}) {
  labels_.reserve(static_cast<std::size_t>(source.size()));
  for (std::int64_t i = 0; i < source.size(); ++i) labels_.push_back(source.label(i));
  is_svm_layer_ = piecewise_layers(tail_).empty();
  if (const auto& end = models_->end = exact_end(network, tail_, options)) {
    form_ = "exact";
    LayerMemory weights;
    weights.weights = weight_bytes(network, network.node(open_node));
    svm_inputs_ =
        std::make_unique<LayerInputs>(end->network, cut_tail(end->network, end->node), source, options.from,
                                      TailRunner::chunk, left_for_inputs(weights, options), threads);
    models_->features = std::make_unique<LayerFeatures>(*svm_inputs_, source.size(), threads);
    SvmLayerOptions svm;
    svm.bias = network.node(open_node).parameters.size() > 1 ? Bias::yes : Bias::no;
    blocks_ = std::make_unique<SvmLayer>(*models_->features, labels_, margins, threads, svm);
    return;
  }
  runner_ = std::make_unique<TailRunner>(network, tail_, source, labels_, options, threads);
  if (runner_->decomposition().labels_only) {
    form_ = "labels";
    models_->label = std::make_unique<LabelLayerModel>(*runner_);
    models_->oracle = std::make_unique<LabelOracle>(*models_->label, labels_, margins);
  } else if (runner_->layer().dense()) {
    form_ = "factored";
    models_->factored = std::make_unique<FactoredLayerModel>(*runner_, models_->margins);
    models_->oracle = std::make_unique<FactoredOracle>(*models_->factored, threads);
  } else {
    form_ = "explicit";
    models_->explicit_model =
        std::make_unique<ExplicitLayerModel>(*runner_, models_->margins, options.memory);
    models_->oracle =
        std::make_unique<ExplicitOracle>(*models_->explicit_model, threads,
                                         batch_that_fits(runner_->layer().dimension(), options.memory, 250));
  }
  blocks_ = std::make_unique<FrankWolfe>(*models_->oracle, options.step_rule, threads);
}

LayerProblem::~LayerProblem() = default;

Oracle* LayerProblem::oracle() {
  return models_->oracle.get();
}

std::uint64_t LayerProblem::cache_bytes() const {
  return runner_ ? runner_->cache_bytes() : svm_inputs_->bytes();
}

LayerMemory memory_of(const Graph& network, int open_node, std::int64_t samples,
                      const LayerProblemOptions& options) {
  const Tail tail = cut_tail(network, open_node);
  const Node& open = network.node(open_node);
  LayerMemory memory;
  std::int64_t row = element_count(network.node(open.inputs[0]).shape);
  for (int node : tail.frontier) row += element_count(network.node(node).shape);
  if (const auto end = exact_end(network, tail, options)) {
    memory.form = "exact";
    memory.weights = weight_bytes(network, open);
    memory.blocks = most_label_bytes(samples, open.shape[0]);
    row = element_count(end->network.node(end->network.node(end->node).inputs[0]).shape);
  } else {
    const Decomposition decomposition = decompose(tail, options.free_layers, options.split);
    const Program program(decomposition.graph, tail_options(decomposition));
    memory = tail_memory(options, decomposition, program, network, open_node, samples);
  }
  memory.inputs = bytes_of_floats(samples * row);
  if (memory.form == "exact") {  // whose blocks are too small to count
    LayerMemory weights;
    weights.weights = memory.weights;
    memory.inputs_fit = memory.inputs <= left_for_inputs(weights, options);
  } else {
    memory.inputs_fit = memory.inputs <= left_for_inputs(memory, options);
  }
  return memory;
}

// Each further layer loosens the bound by a product of |W| (a chain of seven dense layers was seen to begin
// with gaps of 0.0008, 0.02, 0.3, 4, 70 and 290): beyond one the labels alone are the better model.
int automatic_free_layers(const Graph& network, int open_node, std::int64_t samples, std::uint64_t memory) {
  const Node& open = network.node(open_node);
  const bool fits = slope_bytes_for(samples, element_count(open.shape)) <= memory / 2;
  const int count = free_layer_count(network, open_node);
  return open.layer->kind() == LayerKind::dense && fits && count == 1 ? count : 0;
}

std::uint64_t slope_bytes_for(std::int64_t samples, std::int64_t outputs) {
  return bytes_of_floats(samples * outputs);
}

int free_layer_count(const Graph& network, int open_node) {
  return static_cast<int>(piecewise_layers(cut_tail(network, open_node)).size());
}

int batch_that_fits(std::int64_t dimension, std::uint64_t memory, int wanted) {
  const std::uint64_t fits = memory / 4 / bytes_of_floats(dimension);
  return static_cast<int>(std::clamp<std::uint64_t>(fits, 1, static_cast<std::uint64_t>(wanted)));
}

}  // namespace lwsvm
