#include "lwsvm/features.h"

#include <gtest/gtest.h>

#include "dc/tail.h"
#include "networks.h"

namespace lwsvm {
namespace {

void expect_same(const LossSums& a, const LossSums& b) {
  EXPECT_EQ(a.mean_loss(), b.mean_loss());
  EXPECT_EQ(a.accuracy(), b.accuracy());
}

// 70 samples: a whole chunk of the evaluator's and a part of one.
TEST(Features, GiveTheBitsOfAnEvaluationWhateverHasChanged) {
  const Loss loss(LossKind::hinge, MarginMatrix(classes));
  const Threads threads(2);
  for (const NamedNet& net : all_nets())
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", net.name, seed));
      Graph graph = net.make(seed);
      const VectorSource training = clusters(70, seed), validation = clusters(30, seed + 50);
      const std::vector<int> layers = refinable_layers(graph);
      const int last = *std::max_element(layers.begin(), layers.end());
      const auto features =
          Features::of_last_layer(graph, layers, -1, training, &validation, 1 << 20, threads);
      ASSERT_TRUE(features);
      EXPECT_LT(features->node(), last);
      Evaluator whole(graph, threads);
      Random random(seed, 7);
      for (int round = 0; round < 6; ++round) {
        expect_same(features->evaluate_training(loss), whole.evaluate(training, loss));
        expect_same(features->evaluate_validation(loss), whole.evaluate(validation, loss));
        EXPECT_TRUE(features->is_up_to_date());
        const bool in_last_layer = round % 2 == 0;
        const ParameterRange range =
            graph.node(in_last_layer ? last : layers[random.below(layers.size())]).trained;
        graph.parameters()[at(range.begin) + random.below(static_cast<std::uint64_t>(range.size))] += 0.25f;
        if (in_last_layer) {
          EXPECT_TRUE(features->is_up_to_date()) << "the last layer is not before itself";
        }
      }
    }
}

TEST(Features, AreNotKeptWithoutMemoryOrWithoutAnSvmLayer) {
  const Threads threads(1);
  const Graph graph = chain_net(0);
  const VectorSource training = clusters(70, 0);
  const std::vector<int> all = refinable_layers(graph), inner{*graph.find("fc1")};
  EXPECT_FALSE(Features::of_last_layer(graph, inner, -1, training, nullptr, 1 << 20, threads));
  const auto features = Features::of_last_layer(graph, all, -1, training, nullptr, 1 << 20, threads);
  ASSERT_TRUE(features);
  EXPECT_FALSE(Features::of_last_layer(graph, all, -1, training, nullptr, features->bytes() - 1, threads));
  EXPECT_FALSE(Features::of_last_layer(graph, all, features->node(), training, nullptr, 1 << 20, threads))
      << "samples that are features already";
}

}  // namespace
}  // namespace lwsvm
