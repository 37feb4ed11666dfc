#include "net/program.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/simd.h"
#include "engine/elementwise.h"

namespace lwsvm {
namespace {

constexpr std::int64_t kAlignment = 16;  // floats

std::int64_t aligned(std::int64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

bool contains(const std::vector<int>& list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

class RelayoutKernel final : public Kernel {
 public:
  RelayoutKernel(int samples, TensorSpec from, TensorSpec to)
      : samples_(samples), from_(std::move(from)), to_(std::move(to)) {}

  void forward(const ForwardArgs& args) const override {
    relayout(from_, args.inputs[0], to_, args.output, samples_);
  }
  void backward(const BackwardArgs& args) const override {
    if (args.input_gradients[0])
      relayout(to_, args.output_gradient, from_, args.input_gradients[0], samples_);
  }

 private:
  int samples_;
  TensorSpec from_, to_;
};

// Which nodes the targets depend on, as far back as the node `from`.
std::vector<bool> ancestors(const Graph& graph, int from, const std::vector<int>& targets) {
  std::vector<bool> needed(graph.nodes().size(), false);
  for (int target : targets) needed[static_cast<std::size_t>(target)] = true;
  for (int node = *std::max_element(targets.begin(), targets.end()); node > from; --node)
    if (needed[static_cast<std::size_t>(node)])
      for (int input : graph.node(node).inputs) needed[static_cast<std::size_t>(input)] = true;
  return needed;
}

// A ReLU that feeds one max-pool and nothing else: maxpool(relu(x)) = relu(maxpool(x)), done in one go by the
// pool. Not if one of the two replays its pattern and the other does not.
bool pool_absorbs(const Graph& graph, int node, const std::vector<bool>& needed,
                  const std::vector<int>& targets, const std::vector<int>& free_nodes) {
  if (contains(targets, node) || graph.node(node).is_input() ||
      graph.node(node).layer->kind() != LayerKind::relu)
    return false;
  int pools = 0;
  for (int consumer : graph.consumers(node)) {
    if (!needed[static_cast<std::size_t>(consumer)]) continue;
    if (graph.node(consumer).layer->kind() != LayerKind::max_pool) return false;
    if (contains(free_nodes, node) != contains(free_nodes, consumer)) return false;
    ++pools;
  }
  return pools == 1;
}

// A block of the arena, and when it is in use.
struct Lifetime {
  std::int64_t size = 0;
  int first = std::numeric_limits<int>::max();
  int last = -1;
  std::int64_t offset = 0;

  void covers(int time) {
    first = std::min(first, time);
    last = std::max(last, time);
  }
  bool meets(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

// Largest first, each at the lowest address where it meets nobody alive at the same time. Returns the total
// size.
std::int64_t assign_offsets(std::vector<Lifetime>& blocks) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].last >= blocks[i].first) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].size > blocks[b].size; });
  std::vector<std::size_t> assigned;  // by offset
  std::int64_t total = 0;
  for (std::size_t index : order) {
    Lifetime& block = blocks[index];
    std::int64_t at = 0;
    for (std::size_t other : assigned) {
      const Lifetime& taken = blocks[other];
      if (!block.meets(taken)) continue;
      if (at + block.size <= taken.offset) break;
      at = std::max(at, taken.offset + taken.size);
    }
    block.offset = at;
    total = std::max(total, at + block.size);
    assigned.insert(
        std::upper_bound(assigned.begin(), assigned.end(), index,
                         [&](std::size_t a, std::size_t b) { return blocks[a].offset < blocks[b].offset; }),
        index);
  }
  return total;
}

}  // namespace

std::size_t group_size(const Graph& graph, int from) {
  for (int index = from + 1; index < static_cast<int>(graph.nodes().size()); ++index) {
    const Node& node = graph.node(index);
    if (node.is_input()) continue;
    std::vector<Shape> shapes;
    for (int input : node.inputs) shapes.push_back(graph.node(input).shape);
    if (node.layer->interleaving(shapes) == Interleaving::wanted)
      return static_cast<std::size_t>(simd_lanes());
  }
  return 1;
}

Program::Program(const Graph& graph, const ProgramOptions& options) : options_(options) {
  const int target = options.target >= 0 ? options.target : graph.scores();
  differentiates_ = !options.learn.empty() || !options.input_gradients.empty();
  std::vector<int> targets = options.extra_targets;
  targets.push_back(target);
  const std::vector<bool> needed = ancestors(graph, options.from, targets);
  std::vector<bool> absorbed(graph.nodes().size(), false);
  node_value_.assign(graph.nodes().size(), -1);
  for (int node = std::max(0, options.from); node <= *std::max_element(targets.begin(), targets.end());
       ++node) {
    const auto at = static_cast<std::size_t>(node);
    if (options.from >= 0 ? node == options.from : graph.node(node).is_input()) {
      Value input;
      input.spec = {graph.node(node).shape, Layout::channels_first};
      if (input.spec.shape.size() == 3) input.spec.layout = options.image_layout;
      input.differentiated = contains(options.input_gradients, node);
      node_value_[at] = static_cast<int>(values_.size());
      input_values_.push_back(node_value_[at]);
      values_.push_back(std::move(input));
    } else if (needed[at]) {
      absorbed[at] = pool_absorbs(graph, node, needed, targets, options.free_nodes);
      const int source = graph.node(node).inputs[0];
      if (absorbed[at])
        node_value_[at] = node_value_[static_cast<std::size_t>(source)];
      else
        add_step(graph, node, absorbed[static_cast<std::size_t>(source)], contains(options.learn, node));
    }
  }
  // Whoever reads the results finds them in the order that was asked for.
  target_value_ = layout_for(node_value_[static_cast<std::size_t>(target)], options.image_layout);
  for (int extra : options.extra_targets)
    extra_values_.push_back(layout_for(node_value_[static_cast<std::size_t>(extra)], options.image_layout));
  share_memory();
  plan_memory();
}

// What a value of this shape is in a layout, which is about images.
TensorSpec Program::spec_for(const Shape& shape, Layout layout) const {
  if (shape.size() != 3) return {shape, Layout::channels_first};
  if (layout != Layout::interleaved) return {shape, layout};
  return {shape, layout, interleaved_lanes(options_.samples)};
}

Layout Program::layout_of(const Layer& layer, const std::vector<int>& inputs) const {
  std::vector<Shape> shapes;
  bool images = true, interleaved = false, channels_last = false;
  for (int input : inputs) {
    const TensorSpec& spec = value(input).spec;
    shapes.push_back(spec.shape);
    images &= spec.shape.size() == 3;
    interleaved |= spec.layout == Layout::interleaved;
    channels_last |= spec.layout != Layout::channels_first;
  }
  const Interleaving interleaving = images ? layer.interleaving(shapes) : Interleaving::impossible;
  if (interleaving == Interleaving::wanted || (interleaving == Interleaving::possible && interleaved))
    return Layout::interleaved;
  switch (layer.preferred_layout()) {
    case LayoutPreference::channels_first:
      return Layout::channels_first;
    case LayoutPreference::channels_last:
      return Layout::channels_last;
    case LayoutPreference::any:
      break;
  }
  return channels_last ? Layout::channels_last : Layout::channels_first;
}

// The value in this layout: itself, or a copy made by a step of its own (shared by all who want it).
int Program::layout_for(int index, Layout layout) {
  const TensorSpec wanted = spec_for(value(index).spec.shape, layout);
  if (same_order(wanted, value(index).spec)) return index;
  for (int consumer : value(index).consumers) {
    const Step& step = steps_[static_cast<std::size_t>(consumer)];
    if (step.node < 0 && value(step.output).spec == wanted) return step.output;
  }
  Step step;
  step.kernel = std::make_unique<RelayoutKernel>(options_.samples, value(index).spec, wanted);
  step.inputs = {index};
  const bool differentiated = value(index).differentiated;
  push_step(std::move(step), wanted, differentiated);
  return steps_.back().output;
}

void Program::add_step(const Graph& graph, int node_index, bool absorbs_relu, bool learns) {
  const Node& node = graph.node(node_index);
  Step step;
  step.node = node_index;
  step.learns = learns;
  step.is_free = contains(options_.free_nodes, node_index);
  std::vector<int> inputs;
  for (int input : node.inputs) inputs.push_back(node_value_[static_cast<std::size_t>(input)]);
  const Layout layout = layout_of(*node.layer, inputs);

  CompileRequest request;
  request.samples = options_.samples;
  request.training = options_.training;
  request.parameter_gradient = learns;
  request.absorbs_relu = absorbs_relu;
  for (int input : inputs) {
    step.inputs.push_back(layout_for(input, layout));
    request.inputs.push_back(spec_for(value(input).spec.shape, layout));
    request.input_gradient |= value(input).differentiated;
  }
  request.output = spec_for(node.shape, layout);
  try {
    step.kernel = node.layer->compile(request);
  } catch (const Error& error) {
    throw Error(fmt::format("{} (layer '{}')", error.what(), node.name));
  }
  push_step(std::move(step), request.output, learns || request.input_gradient);
  node_value_[static_cast<std::size_t>(node_index)] = steps_.back().output;
}

void Program::push_step(Step step, const TensorSpec& output, bool differentiated) {
  const int index = step_count();
  for (int input : step.inputs) value(input).consumers.push_back(index);
  step.output = static_cast<int>(values_.size());
  step.pattern = pattern_bytes_;
  step.packed = packed_floats_;
  if (differentiates_ || options_.record_patterns || options_.training)
    pattern_bytes_ += (step.kernel->pattern_bytes() + 63) / 64 * 64;
  if (step.learns)
    packed_floats_ +=
        static_cast<std::size_t>(aligned(static_cast<std::int64_t>(step.kernel->packed_gradient_floats())));
  scratch_floats_ = std::max(scratch_floats_, step.kernel->scratch_floats());
  if (step.kernel->sums() > 0) barriers_.push_back(steps_.size());
  Value made;
  made.spec = output;
  made.producer = index;
  made.differentiated = differentiated;
  values_.push_back(std::move(made));
  steps_.push_back(std::move(step));
}

// In-place steps: the output takes over its input's memory, and on the way back the other way round. Only
// where nobody else reads that input.
void Program::share_memory() {
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i].root = values_[i].gradient_root = static_cast<int>(i);
  for (const Step& step : steps_) {
    const int input = step.inputs[0];
    const bool alone = value(input).consumers.size() == 1 && !is_target(input);
    const bool kept = runs_backward(step) && step.kernel->keeps_inputs();
    if (step.kernel->in_place() && alone && !kept) value(step.output).root = value(input).root;
  }
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const int input = step->inputs[0];
    const bool alone = value(input).consumers.size() == 1 && !is_target(input);
    if (step->kernel->in_place() && alone && runs_backward(*step) && value(input).differentiated)
      value(input).gradient_root = value(step->output).gradient_root;
  }
}

void Program::plan_memory() {
  const int loss_time = step_count();
  const int end = backward_time(-1);
  std::vector<Lifetime> blocks(2 * values_.size());  // values, then gradients
  const auto block_of = [&](int index) -> Lifetime& {
    return blocks[static_cast<std::size_t>(value(index).root)];
  };
  const auto gradient_of = [&](int index) -> Lifetime& {
    return blocks[values_.size() + static_cast<std::size_t>(value(index).gradient_root)];
  };
  const auto floats = [&](int index) { return aligned(value(index).spec.floats(options_.samples)); };

  for (int v = 0; v < static_cast<int>(values_.size()); ++v) {
    Lifetime& block = block_of(v);
    block.size = std::max(block.size, floats(v));
    block.covers(value(v).producer);
    for (int consumer : value(v).consumers) {
      const Step& step = steps_[static_cast<std::size_t>(consumer)];
      block.covers(consumer);
      if (runs_backward(step) && step.kernel->keeps_inputs()) block.covers(backward_time(consumer));
    }
    if (is_target(v)) block.covers(end);
  }
  std::vector<Lifetime> detours;
  if (differentiates_) {
    for (int v = 0; v < static_cast<int>(values_.size()); ++v) {
      if (!value(v).differentiated) continue;
      Lifetime& block = gradient_of(v);
      block.size = std::max(block.size, floats(v));
      block.covers(value(v).producer >= 0 ? backward_time(value(v).producer) : end);
      for (int consumer : value(v).consumers)
        if (runs_backward(steps_[static_cast<std::size_t>(consumer)])) block.covers(backward_time(consumer));
      if (v == target_value_) block.covers(loss_time);
    }
    std::vector<bool> written(values_.size(), false);
    if (target_value_ >= 0) written[static_cast<std::size_t>(target_value_)] = true;  // by the loss
    for (int s = step_count() - 1; s >= 0; --s) {
      Step& step = steps_[static_cast<std::size_t>(s)];
      step.detour.assign(step.inputs.size(), -1);
      if (!runs_backward(step)) continue;
      for (std::size_t k = 0; k < step.inputs.size(); ++k) {
        const auto input = static_cast<std::size_t>(step.inputs[k]);
        if (!values_[input].differentiated) continue;
        if (written[input]) {
          Lifetime detour;
          detour.size = floats(step.inputs[k]);
          detour.covers(backward_time(s));
          step.detour[k] = static_cast<std::int64_t>(detours.size());
          detours.push_back(detour);
        }
        written[input] = true;
      }
    }
  }
  const std::size_t first_detour = blocks.size();
  blocks.insert(blocks.end(), detours.begin(), detours.end());
  arena_floats_ = static_cast<std::size_t>(assign_offsets(blocks));
  for (Value& v : values_) {
    v.offset = blocks[static_cast<std::size_t>(v.root)].offset;
    v.gradient_offset = blocks[values_.size() + static_cast<std::size_t>(v.gradient_root)].offset;
  }
  for (Step& step : steps_)
    for (std::int64_t& detour : step.detour)
      if (detour >= 0) detour = blocks[first_detour + static_cast<std::size_t>(detour)].offset;
}

Workspace Program::make_workspace() const {
  Workspace workspace;
  fit(workspace);
  return workspace;
}

void Program::fit(Workspace& workspace) const {
  workspace.arena.resize(std::max(workspace.arena.size(), arena_floats_));
  workspace.patterns.resize(std::max(workspace.patterns.size(), pattern_bytes_));
  workspace.scratch.resize(std::max(workspace.scratch.size(), scratch_floats_));
}

void Program::load(const Graph& graph) {
  for (Step& step : steps_) {
    if (step.node < 0) continue;
    const Node& node = graph.node(step.node);
    step.kernel->pack(graph.parameters().data() + node.trained.begin,
                      graph.statistics().data() + node.statistics.begin);
  }
}

std::vector<PatternSection> Program::replayed_patterns() const {
  std::vector<PatternSection> sections;
  for (const Step& step : steps_) {
    const std::size_t bytes = step.kernel->pattern_bytes();
    if (bytes == 0 || step.is_free) continue;
    const TensorSpec& spec = value(step.output).spec;
    sections.push_back({step.pattern, bytes / static_cast<std::size_t>(spec.places(options_.samples)),
                        step.kernel->pattern_bits(), spec.lanes});
  }
  return sections;
}

float* Program::input(Workspace& workspace, int graph_input) const {
  return at(workspace, input_values_[static_cast<std::size_t>(graph_input)]);
}

const float* Program::output(const Workspace& workspace) const {
  return workspace.arena.data() + value(target_value_).offset;
}

const float* Program::extra_output(const Workspace& workspace, int index) const {
  return workspace.arena.data() + value(extra_values_[static_cast<std::size_t>(index)]).offset;
}

bool Program::is_target(int index) const {
  return index == target_value_ || contains(extra_values_, index);
}

float* Program::output_gradient(Workspace& workspace) const {
  return gradient_at(workspace, target_value_);
}

const float* Program::input_gradient(const Workspace& workspace, int graph_input) const {
  const Value& input = value(input_values_[static_cast<std::size_t>(graph_input)]);
  LWSVM_CHECK(input.differentiated);
  return workspace.arena.data() + input.gradient_offset;
}

std::size_t Program::sums(int barrier) const {
  return steps_[barriers_[static_cast<std::size_t>(barrier)]].kernel->sums();
}

ForwardArgs Program::forward_args(const Step& step, Workspace& workspace, PatternUse use,
                                  std::uint64_t draw) const {
  workspace.input_pointers.clear();
  for (int input : step.inputs) workspace.input_pointers.push_back(at(workspace, input));
  ForwardArgs args;
  args.inputs = workspace.input_pointers;
  args.output = at(workspace, step.output);
  args.pattern = workspace.patterns.data() + step.pattern;
  args.use = use == PatternUse::replay && step.is_free ? PatternUse::record : use;
  args.scratch = workspace.scratch.data();
  args.draw = draw + static_cast<std::uint64_t>(step.node) * 0x9e3779b97f4a7c15ULL;
  return args;
}

void Program::forward(Workspace& workspace, PatternUse use, int stage, double* sums,
                      std::uint64_t draw) const {
  const std::size_t begin = stage == 0 ? 0 : barriers_[static_cast<std::size_t>(stage - 1)];
  const bool last = stage + 1 == stages();
  const std::size_t end = last ? steps_.size() : barriers_[static_cast<std::size_t>(stage)];
  for (std::size_t s = begin; s < end; ++s)
    steps_[s].kernel->forward(forward_args(steps_[s], workspace, use, draw));
  if (!last) steps_[end].kernel->gather(forward_args(steps_[end], workspace, use, draw), sums);
}

void Program::settle(int barrier, std::span<const double> sums, std::int64_t batch) {
  steps_[barriers_[static_cast<std::size_t>(barrier)]].kernel->settle(sums, batch);
}

BackwardArgs Program::backward_args(const Step& step, Workspace& workspace, float* packed_gradient) const {
  workspace.input_pointers.clear();
  workspace.gradient_pointers.clear();
  for (std::size_t k = 0; k < step.inputs.size(); ++k) {
    const int input = step.inputs[k];
    workspace.input_pointers.push_back(step.kernel->keeps_inputs() ? at(workspace, input) : nullptr);
    float* gradient = nullptr;
    if (value(input).differentiated)
      gradient =
          step.detour[k] >= 0 ? workspace.arena.data() + step.detour[k] : gradient_at(workspace, input);
    workspace.gradient_pointers.push_back(gradient);
  }
  BackwardArgs args;
  args.inputs = workspace.input_pointers;
  args.output_gradient = gradient_at(workspace, step.output);
  args.input_gradients = workspace.gradient_pointers;
  args.pattern = workspace.patterns.data() + step.pattern;
  args.parameter_gradient = step.learns && packed_gradient ? packed_gradient + step.packed : nullptr;
  args.scratch = workspace.scratch.data();
  return args;
}

void Program::backward_step(const Step& step, Workspace& workspace, float* packed_gradient) const {
  step.kernel->backward(backward_args(step, workspace, packed_gradient));
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    if (step.detour[k] >= 0)
      add_to(workspace.arena.data() + step.detour[k], value(step.inputs[k]).spec.floats(options_.samples),
             gradient_at(workspace, step.inputs[k]));
}

void Program::backward(Workspace& workspace, float* packed_gradient, int stage, double* sums) const {
  const bool last = stage + 1 == stages();
  const std::size_t top = last ? steps_.size() : barriers_[static_cast<std::size_t>(stage)] + 1;
  const std::size_t bottom = stage == 0 ? 0 : barriers_[static_cast<std::size_t>(stage - 1)] + 1;
  for (std::size_t s = top; s-- > bottom;)
    if (runs_backward(steps_[s])) backward_step(steps_[s], workspace, packed_gradient);
  if (stage == 0) return;
  const Step& barrier = steps_[bottom - 1];
  if (runs_backward(barrier))
    barrier.kernel->gather_backward(backward_args(barrier, workspace, packed_gradient), sums);
  else
    std::fill_n(sums, barrier.kernel->sums(), 0.0);
}

void Program::settle_backward(int barrier, std::span<const double> sums, std::int64_t batch) {
  steps_[barriers_[static_cast<std::size_t>(barrier)]].kernel->settle_backward(sums, batch);
}

void Program::unpack_gradient(const Graph& graph, const float* packed, float* gradient) const {
  for (const Step& step : steps_) {
    if (!step.learns) continue;
    float* target = gradient + graph.node(step.node).trained.begin;
    step.kernel->unpack_gradient(packed + step.packed, target);
    step.kernel->gradient_from_sums(target);
  }
}

void Program::update_statistics(const Graph& graph, float* statistics) const {
  for (std::size_t s : barriers_)
    steps_[s].kernel->update_statistics(statistics + graph.node(steps_[s].node).statistics.begin);
}

}  // namespace lwsvm
