// Graphs for the tests of this folder: one of every layer kind, and random ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/initialize.h"
#include "net/graph.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/shape_layers.h"
#include "net/layers/softmax_layer.h"

namespace lwsvm {

// Other numbers than an initialised network has, so that no two parameters can be mistaken for each other.
inline void scramble(Graph& graph, std::uint64_t seed) {
  Random random(seed);
  for (float& value : graph.parameters()) value = static_cast<float>(random.uniform(-0.5, 0.5));
  for (float& value : graph.statistics())
    value = static_cast<float>(random.uniform(0.5, 1.5));  // variances too
}

inline std::vector<float> random_floats(std::size_t count, double low, double high, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.uniform(low, high));
  return values;
}

inline WindowSpec make_window(Shape taps, Shape stride, Shape dilation, Shape pads, bool ceil_mode = false) {
  WindowSpec w;
  w.height = taps[0], w.width = taps[1];
  w.stride_height = stride[0], w.stride_width = stride[1];
  w.dilation_height = dilation[0], w.dilation_width = dilation[1];
  w.pad_top = pads[0], w.pad_left = pads[1], w.pad_bottom = pads[2], w.pad_right = pads[3];
  w.ceil_mode = ceil_mode;
  return w;
}

struct KindCase {
  std::string name;
  Shape input;
  std::shared_ptr<const Layer> layer;
  int copies = 1;  // how many inputs the layer takes: x, then x with other signs
};

// Every layer kind, with attributes away from their defaults.
inline std::vector<KindCase> every_kind() {
  const Shape image{4, 7, 6};
  const auto make_conv = [](std::int64_t in, std::int64_t out, std::int64_t groups, WindowSpec window,
                            bool bias) {
    ConvolutionSpec spec;
    spec.in_channels = in, spec.out_channels = out, spec.groups = groups, spec.window = window,
    spec.bias = bias;
    return std::make_shared<ConvolutionLayer>(spec);
  };
  const auto constants = [](std::size_t n, std::uint64_t seed) { return random_floats(n, 0.5, 2.0, seed); };
  using Reduction = GlobalPoolLayer::Reduction;
  return {
      {"conv", image, make_conv(4, 6, 1, make_window({3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}), true)},
      {"conv_odd", image, make_conv(4, 6, 2, make_window({3, 2}, {2, 1}, {2, 3}, {2, 0, 1, 3}), false)},
      {"dense", {9}, std::make_shared<DenseLayer>(9, 5)},
      {"dense_no_bias", {9}, std::make_shared<DenseLayer>(9, 5, false)},
      {"batch_norm", image, std::make_shared<BatchNormLayer>(4, 1e-3f, 0.01f)},
      {"batch_norm_vector", {9}, std::make_shared<BatchNormLayer>(9)},
      {"relu", image, std::make_shared<ReluLayer>()},
      {"leaky", image, std::make_shared<LeakyReluLayer>(0.1f)},
      {"clip", image, std::make_shared<ClipLayer>(-0.3f, 0.7f)},
      {"abs", {9}, std::make_shared<AbsLayer>()},
      {"prelu", image, std::make_shared<PReluLayer>(4)},
      {"prelu_vector", {9}, std::make_shared<PReluLayer>(9)},
      {"prelu_one", image, std::make_shared<PReluLayer>(1)},
      {"max", image, std::make_shared<MaximumLayer>(), 3},
      {"min", image, std::make_shared<MaximumLayer>(true), 2},
      {"add", image, std::make_shared<AddLayer>(), 2},
      {"add_three", image, std::make_shared<AddLayer>(), 3},
      {"sub", image, std::make_shared<SubtractLayer>(), 2},
      {"concat", image, std::make_shared<ConcatLayer>(0), 3},
      {"concat_width", image, std::make_shared<ConcatLayer>(2), 2},
      {"affine_one", image, std::make_shared<AffineLayer>(constants(1, 1), constants(1, 2))},
      {"affine_channel", image, std::make_shared<AffineLayer>(constants(4, 3), constants(168, 4))},
      {"affine_vector", {9}, std::make_shared<AffineLayer>(constants(9, 5), constants(1, 6))},
      {"normalize", image, std::make_shared<NormalizeLayer>(constants(4, 7), constants(168, 8))},
      {"max_pool", image, std::make_shared<MaxPoolLayer>(make_window({3, 2}, {2, 1}, {1, 1}, {1, 0, 1, 1}))},
      {"max_pool_dilated", image,
       std::make_shared<MaxPoolLayer>(make_window({2, 2}, {1, 2}, {2, 3}, {0, 1, 0, 1}))},
      {"max_pool_ceil", image,
       std::make_shared<MaxPoolLayer>(make_window({2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true))},
      {"average_pool", image,
       std::make_shared<AveragePoolLayer>(make_window({3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}), false)},
      {"average_pool_all", image,
       std::make_shared<AveragePoolLayer>(make_window({3, 3}, {2, 1}, {1, 1}, {1, 1, 1, 1}), true)},
      {"global_average", image, std::make_shared<GlobalPoolLayer>(Reduction::average)},
      {"global_max", image, std::make_shared<GlobalPoolLayer>(Reduction::maximum)},
      {"flatten", image, std::make_shared<FlattenLayer>()},
      {"reshape", image, std::make_shared<ReshapeLayer>(Shape{7, 24})},
      {"reshape_open", image, std::make_shared<ReshapeLayer>(Shape{-1, 2, 6})},
      {"transpose", image, std::make_shared<TransposeLayer>(std::vector<std::int64_t>{1, 2, 0})},
      {"pad", image, std::make_shared<PadLayer>(Shape{1, 0, 2}, Shape{0, 3, 1}, -1.5f)},
      {"slice", image, std::make_shared<SliceLayer>(Shape{1, 0, 5}, Shape{2, 3, -1}, Shape{2, 3, 6})},
      {"dropout", image, std::make_shared<DropoutLayer>(0.3f)},
      {"softmax", {9}, std::make_shared<SoftmaxLayer>()},
  };
}

// The layer after a few affine copies of the input, so that layers of several inputs see different ones.
inline Graph graph_of(const KindCase& test) {
  Graph graph;
  const int input = graph.add_input("input", test.input);
  std::vector<int> inputs{input};
  for (int i = 1; i < test.copies; ++i) {
    const std::vector<float> scale{i % 2 == 1 ? -1.0f : 0.5f}, offset{0.1f * static_cast<float>(i)};
    inputs.push_back(
        graph.add("copy" + std::to_string(i), std::make_shared<AffineLayer>(scale, offset), {input}));
  }
  graph.set_output(graph.add(test.name, test.layer, inputs));
  scramble(graph, 99);
  return graph;
}

// A random acyclic graph: chains, sums, joins, residual blocks, inception blocks.
inline Graph random_graph(std::uint64_t seed) {
  Random random(seed);
  Graph graph;
  int count = 0;
  const auto channels = [&](int node) { return graph.node(node).shape[0]; };
  const auto add = [&](const std::string& name, std::shared_ptr<const Layer> layer, std::vector<int> inputs) {
    return graph.add(name + std::to_string(++count), std::move(layer), std::move(inputs));
  };
  const auto conv = [&](int input, std::int64_t out) {
    ConvolutionSpec spec;
    spec.in_channels = channels(input), spec.out_channels = out;
    const auto k = static_cast<std::int64_t>(1 + 2 * random.below(2));
    spec.window = make_window({k, k}, {1, 1}, {1, 1}, {k / 2, k / 2, k / 2, k / 2});
    spec.bias = random.below(2) == 0;
    return add("conv", std::make_shared<ConvolutionLayer>(spec), {input});
  };
  const auto unary = [&](int input) {
    switch (random.below(6)) {
      case 0:
        return add("relu", std::make_shared<ReluLayer>(), {input});
      case 1:
        return add("leaky", std::make_shared<LeakyReluLayer>(0.2f), {input});
      case 2:
        return add("bn", std::make_shared<BatchNormLayer>(channels(input)), {input});
      case 3:
        return add("prelu", std::make_shared<PReluLayer>(channels(input)), {input});
      case 4:
        return add("affine",
                   std::make_shared<AffineLayer>(std::vector<float>{2.0f}, std::vector<float>{-1.0f}),
                   {input});
      default:
        return add("normalize",
                   std::make_shared<NormalizeLayer>(std::vector<float>{0.5f}, std::vector<float>{3.0f}),
                   {input});
    }
  };
  int at = graph.add_input("input", {static_cast<std::int64_t>(1 + random.below(3)), 6, 5});
  for (std::uint64_t blocks = 2 + random.below(4); blocks > 0; --blocks) {
    switch (random.below(4)) {
      case 0:
        at = unary(conv(at, static_cast<std::int64_t>(1 + random.below(5))));
        break;
      case 1:
        at = add("add", std::make_shared<AddLayer>(), {unary(conv(at, channels(at))), at});
        break;  // residual
      case 2:
        at = add("concat", std::make_shared<ConcatLayer>(0), {conv(at, 2), unary(at), conv(unary(at), 3)});
        break;
      default:
        at = add("max", std::make_shared<MaximumLayer>(), {unary(at), at, unary(unary(at))});
        break;
    }
  }
  at = add("flatten", std::make_shared<FlattenLayer>(), {at});
  graph.set_output(graph.add("svm", std::make_shared<DenseLayer>(graph.node(at).shape[0], 4), {at}));
  scramble(graph, seed + 1);
  return graph;
}

}  // namespace lwsvm
