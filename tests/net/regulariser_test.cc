#include "net/regulariser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "checks.h"
#include "net/layers/activations.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

// Three layers with weights, and one whose parameters are never regularised.
Graph network(std::uint64_t seed) {
  ConvolutionSpec spec;
  spec.in_channels = 2;
  spec.out_channels = 3;
  spec.window.height = spec.window.width = 3;
  Graph g;
  int x = g.add_input("x", {2, 5, 5});
  x = g.add("conv", std::make_shared<ConvolutionLayer>(spec), {x});
  x = g.add("norm", layer<BatchNormLayer>(3), {x});
  x = g.add("relu", layer<ReluLayer>(), {x});
  x = g.add("flat", layer<FlattenLayer>(), {x});
  x = g.add("fc", layer<DenseLayer>(27, 6), {x});
  x = g.add("relu2", layer<ReluLayer>(), {x});
  g.add("svm", layer<DenseLayer>(6, 4), {x});
  randomise(g, seed);
  return g;
}

std::vector<float> random_point(const Graph& graph, std::uint64_t seed) {
  Random random(seed, 91);
  std::vector<float> point(graph.parameters().size());
  for (float& x : point) x = static_cast<float>(random.normal());
  return point;
}

double definition(const Graph& graph, double lambda, const std::vector<std::string>& layers,
                  const std::vector<float>& w, const std::vector<float>& centre) {
  double sum = 0;
  for (const std::string& name : layers)
    for (const Parameter& parameter : graph.node(*graph.find(name)).parameters)
      for (std::int64_t i = parameter.range.begin; i < parameter.range.end(); ++i) {
        const double moved = static_cast<double>(w[at(i)]) - (centre.empty() ? 0.0 : centre[at(i)]);
        sum += moved * moved;
      }
  return lambda / 2 * sum;
}

std::vector<int> nodes(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<int> found;
  for (const std::string& name : names) found.push_back(*graph.find(name));
  return found;
}

TEST(Regulariser, FollowsItsDefinition) {
  const Graph graph = network(1);
  const std::vector<float> centre = random_point(graph, 2), w = random_point(graph, 3);
  for (const std::vector<std::string>& layers :
       {std::vector<std::string>{"svm"}, {"svm", "conv"}, {"conv", "fc", "svm"}})
    for (const std::vector<float>& around : {std::vector<float>{}, centre}) {
      const Regulariser regulariser(graph, 0.3, nodes(graph, layers), around);
      EXPECT_NEAR(regulariser.value(w), definition(graph, 0.3, layers, w, around), 1e-12);
    }
}

TEST(Regulariser, OfAllLayersLeavesOutBatchNormalisation) {
  const Graph graph = network(1);
  const std::vector<float> w = random_point(graph, 3);
  EXPECT_NEAR(Regulariser(graph, 0.3).value(w), definition(graph, 0.3, {"conv", "fc", "svm"}, w, {}), 1e-12);
  const std::vector<std::uint8_t> mask = graph.regularised_mask();
  EXPECT_EQ(Regulariser(graph, 1).size(), std::count(mask.begin(), mask.end(), 1));
}

TEST(Regulariser, IsZeroAtItsCentreAndNowhereElse) {
  const Graph graph = network(4);
  const Regulariser regulariser(graph, 2, nodes(graph, {"conv", "svm"}), graph.parameters());
  EXPECT_EQ(regulariser.value(graph.parameters()), 0.0);
  std::vector<float> moved = graph.parameters();
  moved[at(graph.node(*graph.find("svm")).trained.begin)] += 0.5f;
  EXPECT_GT(regulariser.value(moved), 0.2);
}

TEST(Regulariser, LayersThatItDoesNotCoverHaveNoPartInIt) {
  const Graph graph = network(5);
  const Regulariser regulariser(graph, 2, nodes(graph, {"fc"}), random_point(graph, 6));
  std::vector<float> w = random_point(graph, 7);
  const double before = regulariser.value(w);
  const ParameterRange covered = graph.node(*graph.find("fc")).trained;
  for (std::int64_t i = 0; i < std::ssize(w); ++i)
    if (i < covered.begin || i >= covered.end()) w[at(i)] = 1000;
  EXPECT_EQ(regulariser.value(w), before);
}

TEST(Regulariser, IsTheSumOfItsLayers) {
  const Graph graph = network(6);
  const std::vector<float> w = random_point(graph, 7);
  for (const std::vector<float>& around : {std::vector<float>{}, random_point(graph, 8)}) {
    const Regulariser regulariser(graph, 0.7, nodes(graph, {"conv", "fc", "svm"}), around);
    double sum = 0;
    for (const Regulariser::Layer& layer : regulariser.layers())
      sum += regulariser.layer_half_square(layer.node,
                                           std::span(w).subspan(at(layer.range.begin), at(layer.range.size)));
    EXPECT_NEAR(0.7 * sum, regulariser.value(w), 1e-12);
  }
}

TEST(Regulariser, GradientIsThatOfItsValue) {
  const Graph graph = network(7);
  const std::vector<float> w = random_point(graph, 8);
  for (const std::vector<float>& around : {std::vector<float>{}, random_point(graph, 9)}) {
    const Regulariser regulariser(graph, 0.5, nodes(graph, {"conv", "svm"}), around);
    std::vector<float> gradient(w.size(), 42.0f);
    regulariser.gradient(w, gradient);
    const std::int64_t inside[] = {0, 17, graph.node(*graph.find("svm")).trained.begin + 3};
    for (std::int64_t i : inside) {
      std::vector<float> up = w, down = w;
      up[at(i)] += 0.125f;
      down[at(i)] -= 0.125f;
      const double slope = (regulariser.value(up) - regulariser.value(down)) /
                           (static_cast<double>(up[at(i)]) - static_cast<double>(down[at(i)]));
      EXPECT_NEAR(gradient[at(i)], slope, 1e-6);
    }
    EXPECT_EQ(gradient[at(graph.node(*graph.find("fc")).trained.begin)], 42.0f) << "not covered";
  }
}

TEST(Regulariser, RefusesALayerWithoutWeights) {
  const Graph graph = network(1);
  EXPECT_THROW(Regulariser(graph, 1, nodes(graph, {"relu"})), Error);
}

}  // namespace
}  // namespace lwsvm
