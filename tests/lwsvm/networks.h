// Small networks of the families that are refined, and data for them.
#pragma once

#include <string>
#include <vector>

#include "checks.h"
#include "net/graph.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {

inline constexpr int classes = 4;
inline const Shape image{3, 6, 6};  // three channels: layouts differ

inline std::shared_ptr<const Layer> convolution(std::int64_t in, std::int64_t out, std::int64_t size = 3,
                                                bool bias = true) {
  ConvolutionSpec spec;
  spec.in_channels = in;
  spec.out_channels = out;
  spec.bias = bias;
  spec.window.height = spec.window.width = size;
  spec.window.pad_top = spec.window.pad_left = spec.window.pad_bottom = spec.window.pad_right = size / 2;
  return std::make_shared<ConvolutionLayer>(spec);
}

inline std::shared_ptr<const Layer> max_pool(std::int64_t size, std::int64_t stride) {
  WindowSpec window;
  window.height = window.width = size;
  window.stride_height = window.stride_width = stride;
  return std::make_shared<MaxPoolLayer>(window);
}

inline Graph finished(Graph g, int last, std::uint64_t seed) {
  if (g.node(last).shape.size() != 1) last = g.add("flat", layer<FlattenLayer>(), {last});
  g.add("svm", layer<DenseLayer>(g.node(last).shape[0], classes), {last});
  randomise(g, seed);
  return g;
}

inline Graph chain_net(std::uint64_t seed) {
  Graph g;
  int x = g.add_input("x", image);
  x = g.add("conv1", convolution(3, 4), {x});
  x = g.add("relu1", layer<ReluLayer>(), {x});
  x = g.add("pool1", max_pool(2, 2), {x});
  x = g.add("conv2", convolution(4, 5), {x});
  x = g.add("relu2", layer<ReluLayer>(), {x});
  x = g.add("pool2", max_pool(2, 1), {x});
  x = g.add("flatten", layer<FlattenLayer>(), {x});
  x = g.add("fc1", layer<DenseLayer>(20, 9), {x});
  x = g.add("relu3", layer<ReluLayer>(), {x});
  return finished(std::move(g), x, seed);
}

inline Graph residual_net(std::uint64_t seed) {
  Graph g;
  int x = g.add_input("x", image);
  x = g.add("conv1", convolution(3, 4, 3, false), {x});
  x = g.add("bn1", layer<BatchNormLayer>(4), {x});
  const int fork = g.add("relu1", layer<ReluLayer>(), {x});
  x = g.add("conv2", convolution(4, 4, 3, false), {fork});
  x = g.add("bn2", layer<BatchNormLayer>(4), {x});
  x = g.add("add", layer<AddLayer>(), {x, fork});
  x = g.add("relu2", layer<ReluLayer>(), {x});
  x = g.add("global", layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average), {x});
  g = finished(std::move(g), x, seed);
  g.parameters()[at(g.node(*g.find("bn2")).trained.begin)] *= -1;  // a negative scale
  return g;
}

// Branches of different kinds, joined; the image itself joins too.
inline Graph inception_net(std::uint64_t seed) {
  Graph g;
  const int x = g.add_input("x", image);
  const int stem = g.add("stem", convolution(3, 3), {x});
  const int base = g.add("stem_relu", layer<ReluLayer>(), {stem});
  int one = g.add("one", convolution(3, 2, 1), {base});
  one = g.add("one_relu", layer<ReluLayer>(), {one});
  int two = g.add("two", convolution(3, 2), {base});
  two = g.add("two_clip", layer<ClipLayer>(0.0f, 0.6f), {two});
  const int joined = g.add("joined", layer<ConcatLayer>(0), {one, two, x});
  int y = g.add("mix", convolution(7, 4, 1), {joined});
  y = g.add("mix_relu", layer<ReluLayer>(), {y});
  y = g.add("top", layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::maximum), {y});
  return finished(std::move(g), y, seed);
}

inline Graph maxout_net(std::uint64_t seed) {
  Graph g;
  const int x = g.add_input("x", image);
  const int a = g.add("a", convolution(3, 2), {x}), b = g.add("b", convolution(3, 2), {x});
  int y = g.add("maxout", layer<MaximumLayer>(), {a, b});
  y = g.add("pool", max_pool(3, 2), {y});
  y = g.add("flatten", layer<FlattenLayer>(), {y});
  const int c = g.add("c", layer<DenseLayer>(8, 5, false), {y}), d = g.add("d", layer<DenseLayer>(8, 5), {y});
  y = g.add("minout", layer<MaximumLayer>(true), {c, d});
  return finished(std::move(g), y, seed);
}

// Leaky, and scores that are a convolution averaged over the image: an SVM layer, though not dense.
inline Graph leaky_net(std::uint64_t seed) {
  Graph g;
  int x = g.add_input("x", image);
  x = g.add("conv1", convolution(3, 4), {x});
  x = g.add("leaky1", layer<LeakyReluLayer>(0.2f), {x});
  x = g.add("conv2", convolution(4, 3), {x});
  x = g.add("abs2", layer<AbsLayer>(), {x});
  x = g.add("head", convolution(3, classes, 1), {x});
  g.add("scores", layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average), {x});
  randomise(g, seed);
  return g;
}

struct NamedNet {
  std::string name;
  Graph (*make)(std::uint64_t seed);
};

inline const std::vector<NamedNet>& all_nets() {
  static const std::vector<NamedNet> nets{{"chain", chain_net},
                                          {"residual", residual_net},
                                          {"inception", inception_net},
                                          {"maxout", maxout_net},
                                          {"leaky", leaky_net}};
  return nets;
}

// Images around a centre for each class, noisy enough that the classes overlap.
inline VectorSource clusters(int samples, std::uint64_t seed, double noise = 0.8) {
  const std::int64_t size = element_count(image);
  Random centre(7, 51), random(seed, 52);
  const std::vector<float> centres = random_floats(classes * size, -1, 1, centre);
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < samples; ++n) {
    const auto label = static_cast<std::int32_t>(random.below(classes));
    labels.push_back(label);
    for (std::int64_t i = 0; i < size; ++i)
      values.push_back(centres[at(label * size + i)] + static_cast<float>(noise * random.normal()));
  }
  return {size, values, labels};
}

}  // namespace lwsvm
