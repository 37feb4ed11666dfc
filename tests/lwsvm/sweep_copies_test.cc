// What sweeps draw from beside the training samples (RefineOptions::sweep_samples).
#include <gtest/gtest.h>

#include <atomic>

#include "lwsvm/refiner.h"
#include "networks.h"

namespace lwsvm {
namespace {

// Every sample twice. The second time with its values negated, or as it is; counts how often that is read.
class TwofoldSource final : public SampleSource {
 public:
  TwofoldSource(const SampleSource& original, bool negated) : original_(original), negated_(negated) {}
  std::int64_t size() const override { return 2 * original_.size(); }
  std::int64_t copies() const override { return 2; }
  std::int32_t label(std::int64_t index) const override { return original_.label(index % original_.size()); }
  void read(std::int64_t index, float* target) const override {
    original_.read(index % original_.size(), target);
    if (index < original_.size()) return;
    ++copies_read_;
    if (negated_)
      for (std::int64_t i = 0; i < element_count(image); ++i) target[i] = -target[i];
  }
  int copies_read() const { return copies_read_; }

 private:
  const SampleSource& original_;
  bool negated_;
  mutable std::atomic<int> copies_read_ = 0;
};

// Counts copies in each quarter of the sweep and in the race before it.
class CopyCounter : public RefineObserver {
 public:
  explicit CopyCounter(const TwofoldSource& source) : source_(source) {}
  void on_race(double /*eta*/, double /*objective*/) override { in_race = source_.copies_read(); }
  void on_sweep_progress(const SweepProgress& progress) override {
    const auto quarter = static_cast<std::size_t>(std::min(3.0, 4 * progress.fraction));
    in_quarters[quarter] += source_.copies_read() - seen_;
    seen_ = source_.copies_read();
  }
  int in_race = 0;
  std::array<int, 4> in_quarters{};

 private:
  const TwofoldSource& source_;
  int seen_ = 0;
};

RefineOptions one_sweep(const SampleSource* drawn) {
  RefineOptions options;
  options.moves = Moves::sweeps;
  options.passes = 12;
  options.sweep_samples = drawn;
  return options;
}

std::vector<float> refined(std::uint64_t seed, const SampleSource& train, const SampleSource* sweep_samples,
                           NetworkQuality* quality = nullptr) {
  Graph graph = chain_net(seed);
  const Loss loss(LossKind::hinge, MarginMatrix(classes));
  const Threads threads(2);
  Refiner refiner(graph, train, nullptr, loss, one_sweep(sweep_samples), threads);
  RefineObserver silent;
  refiner.run(silent);
  EXPECT_EQ(refiner.rises(), 0);
  if (quality) *quality = refiner.current();
  return graph.parameters();
}

TEST(SweepCopies, ThatAreTheSamplesThemselvesChangeNoBit) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const VectorSource train = clusters(150, seed);
    const TwofoldSource twofold(train, false);
    EXPECT_EQ(refined(seed, train, &twofold), refined(seed, train, nullptr));
    EXPECT_GT(twofold.copies_read(), 0);
  }
}

TEST(SweepCopies, HaveNoPartInTheObjective) {
  const VectorSource train = clusters(150, 1);
  const TwofoldSource twofold(train, true);
  NetworkQuality quality;
  Graph graph = chain_net(1);
  graph.parameters() = refined(1, train, &twofold, &quality);
  const Threads threads(1);
  const Loss loss(LossKind::hinge, MarginMatrix(classes));
  EXPECT_EQ(quality.train_loss, Evaluator(graph, threads).evaluate(train, loss).mean_loss());
}

TEST(SweepCopies, AreNotDrawnInTheRaceAndMoreSeldomLaterOn) {
  const VectorSource train = clusters(400, 2);
  const TwofoldSource twofold(train, true);
  Graph graph = chain_net(2);
  const Loss loss(LossKind::hinge, MarginMatrix(classes));
  const Threads threads(1);
  Refiner refiner(graph, train, nullptr, loss, one_sweep(&twofold), threads);
  CopyCounter counter(twofold);
  refiner.run(counter);
  EXPECT_EQ(counter.in_race, 0);
  EXPECT_GT(counter.in_quarters[0], 2 * counter.in_quarters[3]);
  EXPECT_GT(counter.in_quarters[0], counter.in_quarters[2]);
}

}  // namespace
}  // namespace lwsvm
