#include "lwsvm/last_layer.h"

#include <algorithm>

#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

// One number a score and no other axis: whatever moves them keeps their order.
bool is_list(const Shape& shape, std::int64_t scores) {
  return element_count(shape) == scores && *std::max_element(shape.begin(), shape.end()) == scores;
}

bool only_moves(const Layer& layer) {
  return dynamic_cast<const ReshapeLayer*>(&layer) || dynamic_cast<const FlattenLayer*>(&layer) ||
         dynamic_cast<const TransposeLayer*>(&layer);
}

bool averages_positions(const Layer& layer, const Shape& image) {
  if (image.size() != 3) return false;
  if (const auto* pool = dynamic_cast<const GlobalPoolLayer*>(&layer))
    return pool->reduction() == GlobalPoolLayer::Reduction::average;
  const auto* pool = dynamic_cast<const AveragePoolLayer*>(&layer);
  if (!pool) return false;
  WindowSpec whole = pool->window();  // but for the stride, which one position does not need
  whole.height = image[1], whole.width = image[2];
  whole.dilation_height = whole.dilation_width = 1;
  whole.pad_top = whole.pad_left = whole.pad_bottom = whole.pad_right = 0;
  return pool->window() == whole;
}

// Whether the tail is a chain that averages the scores over all positions, if there are several, and else
// only moves them.
bool only_averages(const Tail& tail, std::int64_t scores) {
  const Graph& graph = tail.graph;
  if (!tail.frontier.empty()) return false;
  for (int i = 1; i <= graph.output(); ++i) {
    const Node& node = graph.node(i);
    if (node.inputs != std::vector<int>{i - 1}) return false;
    const Shape& before = graph.node(i - 1).shape;
    const bool fits =
        averages_positions(*node.layer, before) || (is_list(before, scores) && only_moves(*node.layer));
    if (!fits) return false;
  }
  return is_list(graph.node(graph.output()).shape, scores);
}

// The nodes in front of the open one, under the same numbers.
Graph nodes_before(const Graph& network, int open_node) {
  Graph copy;
  for (int i = 0; i < open_node; ++i) {
    const Node& node = network.node(i);
    if (node.is_input())
      copy.add_input(node.name, node.shape);
    else
      copy.add(node.name, node.layer, node.inputs);
  }
  const auto size = static_cast<std::ptrdiff_t>(copy.parameters().size());
  const auto averages = static_cast<std::ptrdiff_t>(copy.statistics().size());
  std::copy_n(network.parameters().begin(), size, copy.parameters().begin());
  std::copy_n(network.statistics().begin(), averages, copy.statistics().begin());
  return copy;
}

// f of a convolution, after its input.
int add_window_means(Graph& graph, int input, const ConvolutionSpec& spec, const Shape& positions,
                     const std::string& name) {
  const WindowSpec& w = spec.window;
  int at = input;
  if (w.pad_top + w.pad_left + w.pad_bottom + w.pad_right > 0)
    at = graph.add(name + ".padded",
                   std::make_shared<PadLayer>(Shape{0, w.pad_top, w.pad_left},
                                              Shape{0, w.pad_bottom, w.pad_right}, 0.0f),
                   {at});
  WindowSpec mean;
  mean.height = positions[1], mean.width = positions[2];
  mean.dilation_height = w.stride_height, mean.dilation_width = w.stride_width;
  mean.stride_height = w.dilation_height, mean.stride_width = w.dilation_width;
  at = graph.add(name + ".means", std::make_shared<AveragePoolLayer>(mean, true), {at});
  const Shape taps{spec.in_channels, w.height, w.width};
  if (graph.node(at).shape != taps)  // pixels at the edge that no window meets
    at = graph.add(name + ".taps", std::make_shared<SliceLayer>(Shape{0, 0, 0}, Shape{1, 1, 1}, taps), {at});
  return graph.add(name + ".features", std::make_shared<FlattenLayer>(), {at});
}

}  // namespace

std::optional<DenseEnd> dense_end(const Graph& network, const Tail& tail) {
  const Node& open = network.node(tail.open_node);
  const auto* dense = dynamic_cast<const DenseLayer*>(open.layer.get());
  const auto* convolution = dynamic_cast<const ConvolutionLayer*>(open.layer.get());
  if (!dense && (!convolution || convolution->spec().groups != 1)) return std::nullopt;
  if (!only_averages(tail, open.shape[0])) return std::nullopt;

  DenseEnd end{nodes_before(network, tail.open_node), -1};
  int features = open.inputs[0];
  if (convolution)
    features = add_window_means(end.network, features, convolution->spec(), open.shape, open.name);
  const std::int64_t width = end.network.node(features).shape[0];
  const bool bias = dense ? dense->has_bias() : convolution->spec().bias;
  end.node = end.network.add(open.name, std::make_shared<DenseLayer>(width, open.shape[0], bias), {features});
  std::copy_n(network.parameters().begin() + open.trained.begin, open.trained.size,
              end.network.parameters().begin() + end.network.node(end.node).trained.begin);
  return end;
}

}  // namespace lwsvm
