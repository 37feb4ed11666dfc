#include "lwsvm/frozen_prefix.h"

#include <gtest/gtest.h>

#include "dc/tail.h"
#include "net/evaluator.h"
#include "networks.h"

namespace lwsvm {
namespace {

std::vector<float> scores_of(const Graph& graph, const SampleSource& source, int from) {
  const auto classes = static_cast<std::size_t>(element_count(graph.node(graph.scores()).shape));
  std::vector<float> all(static_cast<std::size_t>(source.size()) * classes);
  const Threads threads(2);
  Evaluator(graph, threads, from)
      .for_scores(source, [&](std::int64_t first, std::int64_t samples, const float* scores) {
        std::copy_n(scores, static_cast<std::size_t>(samples) * classes,
                    all.begin() + first * static_cast<std::int64_t>(classes));
      });
  return all;
}

// 70 samples: a whole chunk of the evaluator's and a part of one.
TEST(FrozenPrefix, GoingOnFromItGivesTheBitsOfGoingAllTheWay) {
  int found = 0;
  for (const NamedNet& net : all_nets())
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const Graph graph = net.make(seed);
      const VectorSource source = clusters(70, seed);
      const std::vector<float> direct = scores_of(graph, source, -1);
      for (int layer : refinable_layers(graph)) {
        SCOPED_TRACE(fmt::format("{}, {}", net.name, graph.node(layer).name));
        const int node = frozen_prefix(graph, std::span(&layer, 1));
        EXPECT_LT(node, layer);
        if (node < 0) continue;
        ++found;
        const Threads threads(2);
        PrefixSource prefix(graph, node, source);
        prefix.compute(graph, threads);
        ASSERT_EQ(prefix.size(), source.size());
        EXPECT_EQ(prefix.label(69), source.label(69));
        EXPECT_EQ(scores_of(graph, prefix, node), direct);
      }
    }
  EXPECT_GE(found, 3 * static_cast<int>(all_nets().size()));  // at least before each SVM layer
}

TEST(FrozenPrefix, EndsBeforeTheForkOfAResidualBlock) {
  const Graph graph = residual_net(0);
  const int inner = *graph.find("conv2"), fork = *graph.find("relu1");
  EXPECT_EQ(frozen_prefix(graph, std::span(&inner, 1)), fork);
  const std::vector<int> both{*graph.find("conv1"), inner};
  EXPECT_EQ(frozen_prefix(graph, both), -1) << "nothing but the image lies before both";
}

}  // namespace
}  // namespace lwsvm
