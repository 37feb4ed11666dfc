#include "model/adapt_input.h"

#include <algorithm>

#include "base/error.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

Shape channels_last(const Shape& sample) {
  return {sample[1], sample[2], sample[0]};
}

bool is_all(const std::vector<float>& values, float wanted) {
  return std::all_of(values.begin(), values.end(), [&](float value) { return value == wanted; });
}

// The layer that brings samples into the wanted shape; null if they have it.
std::shared_ptr<const Layer> layout_layer(const Shape& wanted, const Shape& sample) {
  if (wanted == sample) return nullptr;
  if (wanted == channels_last(sample))
    return std::make_shared<TransposeLayer>(std::vector<std::int64_t>{1, 2, 0});
  return std::make_shared<ReshapeLayer>(wanted);
}

// BGR for RGB.
int add_reversed(Graph& graph, int input, const std::string& name, const Shape& sample) {
  std::vector<int> channels;
  for (std::int64_t c = sample[0] - 1; c >= 0; --c)
    channels.push_back(graph.add(
        fmt::format("{}.channel{}", name, c),
        std::make_shared<SliceLayer>(Shape{c, 0, 0}, Shape{1, 1, 1}, Shape{1, sample[1], sample[2]}),
        {input}));
  return graph.add(name + ".reversed", std::make_shared<ConcatLayer>(0), std::move(channels));
}

}  // namespace

bool can_take(const Shape& wanted, const Shape& sample) {
  if (wanted == sample || wanted == channels_last(sample)) return true;
  return element_count(wanted) == element_count(sample) && (wanted.size() == 1 || sample[0] == 1);
}

void adapt_input(Model& model, const Shape& sample, const std::vector<float>& mean,
                 const std::vector<float>& deviation, bool reversed) {
  const Graph& old = model.graph;
  LWSVM_CHECK(model.source && old.inputs().size() == 1);
  const int input = old.inputs()[0];
  const std::string& name = old.node(input).name;
  const Shape& wanted = old.node(input).shape;
  LWSVM_CHECK(can_take(wanted, sample));

  Graph graph;
  int at = graph.add_input(name, sample);
  if (!is_all(mean, 0) || !is_all(deviation, 1))
    at = graph.add(name + ".normalized", std::make_shared<NormalizeLayer>(mean, deviation), {at});
  if (reversed) at = add_reversed(graph, at, name, sample);
  if (auto layer = layout_layer(wanted, sample)) at = graph.add(name + ".arranged", std::move(layer), {at});
  std::vector<int> copy_of(old.nodes().size(), at);
  for (std::size_t i = 0; i < old.nodes().size(); ++i) {
    const Node& node = old.nodes()[i];
    if (node.is_input()) continue;
    std::vector<int> inputs;
    for (int in : node.inputs) inputs.push_back(copy_of[static_cast<std::size_t>(in)]);
    copy_of[i] = graph.add(node.name, node.layer, std::move(inputs));
  }
  // Nodes with parameters come in the order they had, and so do the parameters: where they lie in the file
  // stays known.
  graph.parameters() = old.parameters();
  graph.statistics() = old.statistics();
  graph.set_output(copy_of[static_cast<std::size_t>(old.output())]);
  model.graph = std::move(graph);
}

}  // namespace lwsvm
