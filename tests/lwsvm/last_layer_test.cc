// Last layers that are a linear SVM although they do not look it: the dense layer in their place gives the
// same scores for any weights, and the exact solver the optimum that Frank-Wolfe steps approach.
#include "lwsvm/last_layer.h"

#include <gtest/gtest.h>

#include "lwsvm/layer_problem.h"
#include "net/evaluator.h"
#include "networks.h"
#include "ssvm/bcfw.h"

namespace lwsvm {
namespace {

using Reduction = GlobalPoolLayer::Reduction;

struct Window {
  std::int64_t size = 1, stride = 1, dilation = 1, pad = 0;
};

std::shared_ptr<const Layer> head(const Window& w, bool bias = true, std::int64_t groups = 1) {
  ConvolutionSpec spec;
  spec.in_channels = 4, spec.out_channels = classes, spec.groups = groups, spec.bias = bias;
  spec.window.height = spec.window.width = w.size;
  spec.window.stride_height = spec.window.stride_width = w.stride;
  spec.window.dilation_height = spec.window.dilation_width = w.dilation;
  spec.window.pad_top = spec.window.pad_left = w.pad;
  spec.window.pad_bottom = spec.window.pad_right = w.pad;
  return std::make_shared<ConvolutionLayer>(spec);
}

std::shared_ptr<const Layer> average(std::int64_t size) {
  WindowSpec window;
  window.height = window.width = size;
  return layer<AveragePoolLayer>(window, false);
}

using Following = std::vector<std::shared_ptr<const Layer>>;

// 4 channels of 6x6 pixels, then the layer named "head", then what follows it.
Graph network(std::shared_ptr<const Layer> last, const Following& following) {
  Graph g;
  int x = g.add_input("x", image);
  x = g.add("conv1", convolution(3, 4), {x});
  x = g.add("relu1", layer<ReluLayer>(), {x});
  x = g.add("head", std::move(last), {x});
  for (std::size_t i = 0; i < following.size(); ++i)
    x = g.add("after" + std::to_string(i), following[i], {x});
  randomise(g, 3);
  return g;
}

struct Example {
  std::string name;
  Graph graph;

  friend void PrintTo(const Example& example, std::ostream* out) { *out << example.name; }
};

std::vector<Example> svm_layers() {
  const auto mean = layer<GlobalPoolLayer>(Reduction::average);
  const auto flat = layer<FlattenLayer>();
  const auto channels_last = layer<TransposeLayer>(std::vector<std::int64_t>{1, 2, 0});
  std::vector<Example> all;
  const auto add = [&](const char* name, std::shared_ptr<const Layer> last, const Following& following) {
    all.push_back({name, network(std::move(last), following)});
  };
  add("the whole image", head({6}), {flat});
  add("the whole image, no bias", head({6}, false), {flat});
  add("the whole image, channels last", head({6}), {channels_last, layer<ReshapeLayer>(Shape{-1})});
  add("the whole image and more", head({8, 1, 1, 1}), {flat});
  add("some pixels", head({3, 9, 2}), {layer<ReshapeLayer>(Shape{classes, 1}), flat});
  add("a mean of pixels", head({1}), {mean, flat});
  add("a mean of pixels by a pool", head({1}), {average(6), flat});
  add("a mean of every other pixel", head({1, 2}), {mean, flat});
  add("a mean of windows", head({3, 1, 1, 1}), {mean, flat});
  add("a mean of windows with gaps", head({2, 3, 2}, false), {mean, flat});
  add("a mean of windows that do not reach the edge", head({2, 3}), {average(2), flat});
  return all;
}

std::vector<float> scores_of(const Graph& graph, const SampleSource& source) {
  const Threads threads(2);
  std::vector<float> all(at(source.size() * classes));
  Evaluator(graph, threads).for_scores(source, [&](std::int64_t first, std::int64_t count, const float* s) {
    std::copy_n(s, count * classes, all.data() + first * classes);
  });
  return all;
}

std::span<float> weights(Graph& graph, int node) {
  const ParameterRange& range = graph.node(node).trained;
  return std::span(graph.parameters()).subspan(at(range.begin), at(range.size));
}

class SvmLayers : public testing::TestWithParam<Example> {};

TEST_P(SvmLayers, GiveTheScoresOfADenseLayerWithTheSameWeights) {
  const VectorSource source = clusters(37, 4);
  Example example = GetParam();
  const int open = *example.graph.find("head");
  auto end = dense_end(example.graph, cut_tail(example.graph, open));
  ASSERT_TRUE(end);
  ASSERT_EQ(end->network.node(end->node).trained.size, example.graph.node(open).trained.size);
  Random random(5);
  for (int i = 0; i < 2; ++i) {
    const std::vector<float> found = scores_of(end->network, source),
                             expected = scores_of(example.graph, source);
    for (std::size_t k = 0; k < found.size(); ++k) ASSERT_NEAR(found[k], expected[k], 2e-5) << k;
    const std::vector<float> w = random_floats(example.graph.node(open).trained.size, -0.3, 0.3, random);
    std::copy(w.begin(), w.end(), weights(example.graph, open).begin());
    std::copy(w.begin(), w.end(), weights(end->network, end->node).begin());
  }
}

Summary solved(LayerProblem& problem) {
  BcfwOptions options;
  options.lambda = 0.05;
  options.mu = 0.05;
  options.schedule.batch_size = 10;
  StoppingOptions stopping;
  stopping.gap_fraction = 0;
  stopping.relative_gap = 1e-4;
  stopping.max_epochs = 200;
  return BcfwSolver(problem.blocks(), problem.anchor(), options, Threads(2)).solve(stopping);
}

TEST_P(SvmLayers, AreSolvedToTheOptimumOfTheLabelForm) {
  const VectorSource source = clusters(60, 6);
  const MarginMatrix margins(classes);
  const Example& example = GetParam();
  const int open = *example.graph.find("head");
  LayerProblemOptions options;
  LayerProblem exact(example.graph, open, source, margins, options, Threads(2));
  EXPECT_EQ(exact.form(), "exact");
  EXPECT_TRUE(exact.is_svm_layer());
  options.exact_svm_layer = false;
  LayerProblem labels(example.graph, open, source, margins, options, Threads(2));
  EXPECT_EQ(labels.form(), "labels");
  const Summary a = solved(exact), b = solved(labels);
  EXPECT_LE(a.gap, 1.1e-4 * a.primal);
  EXPECT_LE(b.gap, 0.05 * b.primal) << "Frank-Wolfe steps take their time";
  EXPECT_NEAR(a.anchor_primal, b.anchor_primal, 1e-5 * b.anchor_primal);
  // One problem: what one of them proves of its optimum holds for the other.
  EXPECT_LE(a.dual, b.primal * (1 + 1e-5));
  EXPECT_LE(b.dual, a.primal * (1 + 1e-5));
  EXPECT_LE(a.primal, b.primal * (1 + 1e-4));
}

INSTANTIATE_TEST_SUITE_P(LastLayer, SvmLayers, testing::ValuesIn(svm_layers()), [](const auto& instance) {
  std::string name = instance.param.name;
  std::erase_if(name, [](char c) { return c == ',' || c == ' '; });
  return name;
});

TEST(LastLayer, MemoryIsThatOfTheFeatures) {
  const Graph graph = network(head({1}), {layer<GlobalPoolLayer>(Reduction::average)});
  const LayerMemory memory = memory_of(graph, *graph.find("head"), 1000, {});
  EXPECT_EQ(memory.form, "exact");
  EXPECT_EQ(memory.inputs, 1000u * 4 * sizeof(float));
}

TEST(LastLayer, OthersAreNotTakenForOne) {
  const auto mean = layer<GlobalPoolLayer>(Reduction::average);
  const auto flat = layer<FlattenLayer>();
  const auto is_svm = [](const Graph& graph) {
    return dense_end(graph, cut_tail(graph, *graph.find("head"))).has_value();
  };
  EXPECT_FALSE(is_svm(network(head({6}, true, 2), {flat}))) << "groups see other features";
  EXPECT_FALSE(is_svm(network(head({1}), {layer<GlobalPoolLayer>(Reduction::maximum), flat})));
  EXPECT_FALSE(is_svm(network(head({6}), {layer<ReluLayer>(), flat})));
  EXPECT_FALSE(
      is_svm(network(head({6}), {flat, layer<AffineLayer>(std::vector<float>{2}, std::vector<float>{0})})));
  EXPECT_FALSE(is_svm(network(head({1}), {flat}))) << "a score for every position";
  EXPECT_FALSE(is_svm(network(head({1}), {average(5), flat}))) << "two means per class";
  // (classes/2) x 2, transposed: the scores come in another order.
  EXPECT_FALSE(is_svm(network(head({6}), {layer<ReshapeLayer>(Shape{classes / 2, 2}),
                                          layer<TransposeLayer>(std::vector<std::int64_t>{1, 0}), flat})));
  Graph added = network(head({1}), {});
  const int open = *added.find("head");
  added.add("sum", layer<AddLayer>(), {added.add("mean", mean, {open}), added.add("top", mean, {open})});
  EXPECT_FALSE(dense_end(added, cut_tail(added, open)).has_value());
}

}  // namespace
}  // namespace lwsvm
