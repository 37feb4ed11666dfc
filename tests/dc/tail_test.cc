// Cutting a network at its open layer.
#include "dc/tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "checks.h"
#include "decomposed.h"
#include "net/layers/softmax_layer.h"
#include "random_graphs.h"

namespace lwsvm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string message_of(const Graph& graph, int node) {
  try {
    cut_tail(graph, node);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Tail, HasTheNetworksScores) {
  for (std::uint64_t seed = 0; seed < repetitions(150, 25); ++seed) {
    Graph g = Grower(seed).grow_scores(6 + static_cast<int>(seed % 9), 5);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + describe(g));
    randomise(g, seed);
    const naive::Run run = naive::run(g, clear_setting(g, 2, seed));
    for (int open : refinable_layers(g)) {
      const Tail tail = cut_tail(g, open);
      EXPECT_EQ(tail.open_node, open);
      const naive::Tensor scores = output_of(tail.graph, tail_inputs(tail, run));
      ASSERT_EQ(scores.shape, g.node(g.scores()).shape);
      for (std::size_t i = 0; i < scores.values.size(); ++i)
        ASSERT_DOUBLE_EQ(scores.values[i], run.values[at(g.scores())].values[i]) << g.node(open).name;
      for (const Node& node : tail.graph.nodes())
        EXPECT_TRUE(node.is_input() || node.layer->kind() != LayerKind::dropout) << "dropout is left out";
      for (int node : tail.frontier)
        EXPECT_FALSE(dependents(g, open)[at(node)]) << "the frontier must be constant";
    }
  }
}

TEST(Tail, OfALastLayerIsItsOutput) {
  const Graph g = small_conv_net(0.5f);
  const Tail tail = cut_tail(g, *g.find("svm"));
  EXPECT_EQ(tail.graph.output(), 0);
  EXPECT_THAT(tail.frontier, IsEmpty());
}

// A residual arm joins from beside: the open layer's own input is constant too.
TEST(Tail, TakesTheOtherArmAsItsFrontier) {
  const Graph g = small_batch_norm_net();
  const Tail tail = cut_tail(g, *g.find("conv2"));
  EXPECT_THAT(tail.frontier, ElementsAre(*g.find("relu1")));
  EXPECT_THAT(cut_tail(g, *g.find("conv1")).frontier, IsEmpty());
}

Graph with_softmax_between() {
  Graph g;
  int x = g.add_input("x", {6});
  x = g.add("before", layer<DenseLayer>(6, 5), {x});
  x = g.add("squash", layer<SoftmaxLayer>(), {x});
  x = g.add("fc", layer<DenseLayer>(5, 5), {x});
  x = g.add("relu", layer<ReluLayer>(), {x});
  x = g.add("svm", layer<DenseLayer>(5, 3), {x});
  g.add("out", layer<SoftmaxLayer>(), {x});
  return g;
}

TEST(Tail, ErrorNamesTheNodeInTheWayAndTheLayersThatCanBeRefined) {
  const Graph g = with_softmax_between();
  EXPECT_THAT(message_of(g, *g.find("before")),
              AllOf(HasSubstr("'before'"), HasSubstr("'squash'"), HasSubstr("Softmax"), HasSubstr("fc,svm")));
  EXPECT_THAT(why_not_refinable(g, *g.find("before")), HasSubstr("'squash'"));
  EXPECT_THAT(refinable_layers(g), ElementsAre(*g.find("fc"), *g.find("svm")));
  EXPECT_THAT(message_of(g, *g.find("relu")), HasSubstr("no weights"));
}

TEST(Tail, EndsAtTheScoresBeforeAFinalSoftmax) {
  const Graph g = with_softmax_between();
  EXPECT_THAT(why_not_refinable(g, *g.find("fc")), IsEmpty());
  const Tail tail = cut_tail(g, *g.find("fc"));
  EXPECT_EQ(tail.graph.node(tail.graph.output()).name, "svm");
}

class Wave final : public Layer {  // something of no piecewise linear kind
 public:
  LayerKind kind() const override { return LayerKind::tanh; }
  Linearity linearity() const override { return Linearity::neither; }
  Shape infer(std::span<const Shape> inputs) const override { return inputs[0]; }
  std::unique_ptr<Kernel> compile(const CompileRequest&) const override { return nullptr; }
};

TEST(Tail, WhatIsNeitherIsFineBeforeTheLayerOrBesideItsTail) {
  Graph g;
  const int x = g.add_input("x", {6});
  const int wave = g.add("wave", layer<Wave>(), {x});
  const int open = g.add("open", layer<DenseLayer>(6, 4), {wave});
  const int relu = g.add("relu", layer<ReluLayer>(), {open});
  const int head =
      g.add("head", layer<DenseLayer>(4, 3), {relu});  // an auxiliary head that the scores do not need
  g.add("squash", layer<Wave>(), {head});
  const int beside = g.add("beside", layer<DenseLayer>(6, 4), {x});
  const int arm = g.add("arm", layer<Wave>(), {beside});
  const int sum = g.add("sum", layer<AddLayer>(), {relu, arm});
  g.add("svm", layer<DenseLayer>(4, 3), {sum});
  EXPECT_THAT(why_not_refinable(g, open), IsEmpty());
  const Tail tail = cut_tail(g, open);
  EXPECT_THAT(tail.frontier, ElementsAre(arm));
  for (const Node& node : tail.graph.nodes()) EXPECT_THAT(node.name, Not(HasSubstr("head")));
  EXPECT_THAT(why_not_refinable(g, beside), HasSubstr("'arm'"));
  EXPECT_THAT(why_not_refinable(g, head), HasSubstr("do not depend"));
  EXPECT_THAT(refinable_layers(g), ElementsAre(open, *g.find("svm")));
}

}  // namespace
}  // namespace lwsvm
