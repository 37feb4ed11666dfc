#include "lwsvm/frozen_prefix.h"

#include <gtest/gtest.h>

#include <atomic>

#include "dc/tail.h"
#include "net/evaluator.h"
#include "refinements.h"

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

// How often samples are read.
class CountingSource final : public SampleSource {
 public:
  explicit CountingSource(const SampleSource& source) : source_(source) {}
  std::int64_t size() const override { return source_.size(); }
  std::int32_t label(std::int64_t index) const override { return source_.label(index); }
  void read(std::int64_t index, float* target) const override {
    ++count_;
    source_.read(index, target);
  }
  std::int64_t count() const { return count_; }

 private:
  const SampleSource& source_;
  mutable std::atomic<std::int64_t> count_ = 0;
};

// As where its values lie in a file.
TEST(FrozenPrefix, ThatSomebodyElseKeepsIsUsedHoweverLittleMemoryThereIs) {
  const Loss loss = zero_one_loss();
  const Threads threads(2);
  const VectorSource train = clusters(60, 1), validation = clusters(30, 2);
  Graph first = chain_net(3), second = chain_net(3);
  RefineOptions options = small_options(1e-3, Moves::automatic);
  options.layers = {first.scores()};
  options.memory = 1000;
  const auto refined = [&](Graph& graph) {
    const CountingSource counted(train);
    Refiner refiner(graph, counted, &validation, loss, options, threads);
    RefineObserver nobody;
    refiner.run(nobody);
    return counted.count();
  };
  EXPECT_GT(refined(first), 0);

  Graph as_it_was = chain_net(3);
  int asked = 0;
  options.prefix = [&](int node, bool training) {
    ++asked;
    const SampleSource& source = training ? train : validation;
    EXPECT_GT(PrefixSource::bytes_for(as_it_was, node, source.size()), options.memory);
    auto values = std::make_unique<PrefixSource>(as_it_was, node, source);
    values->compute(as_it_was, threads);
    return std::unique_ptr<SampleSource>(std::move(values));
  };
  EXPECT_EQ(refined(second), 0) << "the images themselves were read";
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(same_bits(first.parameters(), second.parameters()));
}

}  // namespace
}  // namespace lwsvm
