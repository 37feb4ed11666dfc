#include "lwsvm/layer_problem.h"

#include <optional>

#include "dc/tail.h"
#include "lwsvm/layer_chunks.h"
#include "lwsvm/layer_memory.h"
#include "lwsvm/layer_models.h"
#include "lwsvm/tail_runner.h"
#include "ssvm/frank_wolfe.h"
#include "ssvm/rounds.h"

namespace lwsvm {

// In the order in which each is made of those before it.
struct LayerProblem::Parts {
  Parts(const MarginMatrix& the_margins, Tail the_tail) : margins(the_margins), tail(std::move(the_tail)) {}

  MarginMatrix margins;
  Tail tail;
  std::vector<std::int32_t> labels;
  // Exact.
  std::optional<DenseEnd> end;
  std::unique_ptr<LayerInputs> inputs;
  std::unique_ptr<FeatureRows> features;
  // All other forms: one of the models.
  std::unique_ptr<TailRunner> runner;
  std::unique_ptr<LabelModel> label;
  std::unique_ptr<FactoredModel> factored;
  std::unique_ptr<ExplicitModel> explicit_model;
  std::unique_ptr<Oracle> oracle;

  std::unique_ptr<BlockAscent> blocks;
};

LayerProblem::LayerProblem(const Graph& network, int open_node, const SampleSource& source,
                           const MarginMatrix& margins, const LayerProblemOptions& options,
                           const Threads& threads)
    : anchor_(weights_of(network, open_node)),
      parts_(std::make_unique<Parts>(margins, cut_tail(network, open_node))) {
  parts_->labels.reserve(static_cast<std::size_t>(source.size()));
  for (std::int64_t i = 0; i < source.size(); ++i) parts_->labels.push_back(source.label(i));
  is_svm_layer_ = piecewise_layers(parts_->tail).empty();
  parts_->end = exact_end(network, parts_->tail, options);
  if (source.size() == 0)
    build_empty(network, options, threads);
  else if (parts_->end)
    build_exact(network, source, options, threads);
  else
    build_searched(network, source, options, threads);
}

// Of a rank that has no samples, but takes part in what the others do.
void LayerProblem::build_empty(const Graph& network, const LayerProblemOptions& options,
                               const Threads& threads) {
  Parts& p = *parts_;
  form_ = "empty";
  const Node& node = network.node(p.tail.open_node);
  const Bias bias = node.parameters.size() > 1 ? Bias::yes : Bias::no;
  if (p.end) {
    p.features = std::make_unique<DenseFeatures>(
        nullptr, 0, std::ssize(anchor_) / p.margins.classes() - (bias == Bias::yes ? 1 : 0));
    p.blocks = std::make_unique<SvmLayer>(*p.features, p.labels, p.margins, threads, SvmLayerOptions{bias});
  } else if (node.layer->kind() == LayerKind::dense) {
    const std::int64_t outputs = element_count(node.shape), inputs = std::ssize(anchor_) / outputs;
    p.oracle = std::make_unique<EmptyOracle>(outputs, inputs - (bias == Bias::yes ? 1 : 0), bias, threads);
    p.blocks = std::make_unique<FrankWolfe>(*p.oracle, options.step_rule, threads);
  } else {
    p.blocks = std::make_unique<NoBlocks>(std::ssize(anchor_));
  }
}

void LayerProblem::build_exact(const Graph& network, const SampleSource& source,
                               const LayerProblemOptions& options, const Threads& threads) {
  Parts& p = *parts_;
  form_ = "exact";
  const int open_node = p.tail.open_node;
  p.inputs = std::make_unique<LayerInputs>(
      p.end->network, cut_tail(p.end->network, p.end->node), source, options.from, kLayerChunk,
      left_for_inputs(weight_bytes(network, open_node), options), threads);
  p.features = exact_features(*p.inputs, source.size(), threads);
  SvmLayerOptions svm;
  svm.bias = network.node(open_node).parameters.size() > 1 ? Bias::yes : Bias::no;
  p.blocks = std::make_unique<SvmLayer>(*p.features, p.labels, p.margins, threads, svm);
}

void LayerProblem::build_searched(const Graph& network, const SampleSource& source,
                                  const LayerProblemOptions& options, const Threads& threads) {
  Parts& p = *parts_;
  p.runner = std::make_unique<TailRunner>(network, p.tail, source, p.labels, options, threads);
  TailRunner& runner = *p.runner;
  if (runner.decomposition().labels_only) {
    form_ = "labels";
    p.label = label_layer_model(runner);
    p.oracle = std::make_unique<LabelOracle>(*p.label, p.labels, p.margins);
  } else if (runner.layer().dense()) {
    form_ = "factored";
    p.factored = factored_layer_model(runner, p.margins);
    p.oracle = std::make_unique<FactoredOracle>(*p.factored, threads);
  } else {
    form_ = "explicit";
    p.explicit_model = explicit_layer_model(runner, p.margins, options.memory);
    p.oracle = std::make_unique<ExplicitOracle>(
        *p.explicit_model, threads, batch_that_fits(runner.layer().dimension(), options.memory, 250));
  }
  p.blocks = std::make_unique<FrankWolfe>(*p.oracle, options.step_rule, threads);
}

LayerProblem::~LayerProblem() = default;

BlockAscent& LayerProblem::blocks() {
  return *parts_->blocks;
}

bool LayerProblem::is_exact() const {
  return parts_->end.has_value();
}

Oracle* LayerProblem::oracle() {
  return parts_->oracle.get();
}

std::uint64_t LayerProblem::cache_bytes() const {
  if (parts_->runner) return parts_->runner->cache_bytes();
  return parts_->inputs ? parts_->inputs->bytes() : 0;
}

// Each further layer loosens the bound by a product of |W| (a chain of seven dense layers was seen to begin
// with gaps of 0.0008, 0.02, 0.3, 4, 70 and 290): beyond one the labels alone are the better model.
int automatic_free_layers(const Graph& network, int open_node, std::int64_t samples, std::uint64_t memory) {
  const Node& open = network.node(open_node);
  const std::uint64_t slopes = slope_bytes_for(samples, element_count(open.shape)), dual = slopes;
  const bool fits = slopes + dual + weight_bytes(network, open_node) <= memory;
  const int count = free_layer_count(network, open_node);
  return open.layer->kind() == LayerKind::dense && fits && count == 1 ? count : 0;
}

int free_layer_count(const Graph& network, int open_node) {
  return static_cast<int>(piecewise_layers(cut_tail(network, open_node)).size());
}

}  // namespace lwsvm
