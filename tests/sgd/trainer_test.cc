#include "sgd/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/random.h"
#include "small_net.h"

namespace lwsvm {
namespace {

// Bright spots whose place tells the class.
class Spots final : public SampleSource {
 public:
  std::int64_t size() const override { return 230; }
  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index % 3); }
  void read(std::int64_t index, float* target) const override {
    Random random(9, static_cast<std::uint64_t>(index));
    for (int i = 0; i < 100; ++i) target[i] = static_cast<float>(0.5 * random.normal());
    target[label(index) * 33] += 3.0f;
  }
};

struct Counting : TrainObserver {
  explicit Counting(int after) : stop_after(after) {}
  void on_safe_point(bool) override { ++safe_points; }
  bool stop_requested() override { return safe_points >= stop_after; }
  int stop_after;
  int safe_points = 0;
};

TrainOptions options(const std::string& solver = "adam") {
  TrainOptions options;
  options.epochs = solver == kFrankWolfe ? 10 : 4;
  options.batch = 50;
  options.solver = solver;
  if (solver != kFrankWolfe) options.learning_rate = 0.01;
  return options;
}

struct TrainerCase {
  bool batch_norm;
  const char* solver;
};

class TrainerOf : public testing::TestWithParam<TrainerCase> {
 protected:
  static Graph net() { return small_net(GetParam().batch_norm); }
  static TrainOptions chosen() { return options(GetParam().solver); }
};

TEST_P(TrainerOf, LearnsAndTheObjectiveFalls) {
  Graph graph = net();
  const Spots spots;
  const Threads threads(2);
  const Loss loss(LossKind::hinge, MarginMatrix(3));
  Evaluator evaluator(graph, threads);
  const double before = evaluator.objective(evaluator.evaluate(spots, loss), Regulariser(graph, 1e-3));
  Trainer trainer(graph, spots, nullptr, loss, chosen(), threads);
  TrainObserver silent;
  EXPECT_EQ(trainer.run(silent), TrainOutcome::finished);
  EXPECT_LT(trainer.last().objective, 0.5 * before);
  EXPECT_GT(trainer.last().train_accuracy, 0.9);
  // What the trainer reports is what the evaluator says of the network that it leaves behind.
  EXPECT_EQ(trainer.last().objective,
            evaluator.objective(evaluator.evaluate(spots, loss), Regulariser(graph, 1e-3)));
}

TEST_P(TrainerOf, StoppedAnywhereAndRestoredGoesOnToTheSameBits) {
  const Spots spots;
  const Loss loss(LossKind::hinge, MarginMatrix(3));
  Graph straight = net();
  {
    const Threads threads(2);
    TrainObserver silent;
    Trainer(straight, spots, nullptr, loss, chosen(), threads).run(silent);
  }
  for (int stop : {1, 3, 5, 7, 12, 19}) {
    const Threads threads(1);
    Graph graph = net();
    Checkpoint checkpoint;
    {
      Trainer trainer(graph, spots, nullptr, loss, chosen(), threads);
      Counting counting(stop);
      ASSERT_EQ(trainer.run(counting), TrainOutcome::stopped) << stop;
      trainer.save(checkpoint);
      Trainer resumed(graph, spots, nullptr, loss, chosen(), threads);
      resumed.restore(checkpoint);
      TrainObserver silent;
      EXPECT_EQ(resumed.run(silent), TrainOutcome::finished);
    }
    EXPECT_EQ(graph.parameters(), straight.parameters()) << "stopped after " << stop;
    EXPECT_EQ(graph.statistics(), straight.statistics()) << "stopped after " << stop;
  }
}

INSTANTIATE_TEST_SUITE_P(Trainer, TrainerOf,
                         testing::Values(TrainerCase{false, "adam"}, TrainerCase{true, "adam"},
                                         TrainerCase{false, kFrankWolfe}, TrainerCase{true, kFrankWolfe}),
                         [](const auto& given) {
                           return std::string(given.param.solver) +
                                  (given.param.batch_norm ? "_batch_norm" : "_plain");
                         });

TEST(Trainer, SaysWhenTheLossIsNoLongerANumber) {
  Graph graph = small_net(false);
  const Spots spots;
  const Threads threads(1);
  const Loss loss(LossKind::cross_entropy, MarginMatrix(3));
  TrainOptions wild = options();
  wild.solver = "nesterov";
  wild.learning_rate = 1e30;
  Trainer trainer(graph, spots, nullptr, loss, wild, threads);
  TrainObserver silent;
  EXPECT_EQ(trainer.run(silent), TrainOutcome::diverged);
}

struct Watching : TrainObserver {
  void on_epoch(const EpochResult& result) override { epochs.push_back(result); }
  std::vector<EpochResult> epochs;
};

// An epoch that raises the objective is taken back, with a radius that is too large on purpose.
TEST(FrankWolfeTraining, NeverLeavesTheObjectiveHigher) {
  const Spots spots;
  const Threads threads(2);
  const Loss loss(LossKind::hinge, MarginMatrix(3));
  for (bool batch_norm : {false, true}) {
    Graph graph = small_net(batch_norm);
    TrainOptions many = options(kFrankWolfe);
    many.epochs = 30;
    Trainer trainer(graph, spots, nullptr, loss, many, threads);
    Watching watching;
    EXPECT_EQ(trainer.run(watching), TrainOutcome::finished);
    ASSERT_EQ(watching.epochs.size(), 30U);
    for (std::size_t i = 1; i < watching.epochs.size(); ++i) {
      const double before = watching.epochs[i - 1].objective, after = watching.epochs[i].objective;
      EXPECT_TRUE(watching.epochs[i].taken_back ? after == before : after < before) << i;
    }
    EXPECT_GT(watching.epochs.back().train_accuracy, 0.95);
  }
}

struct Racing final : Watching {
  void on_race(double radius, double objective) override { race[radius] = objective; }
  std::map<double, double> race;
};

// Bright images, as raw pixels are: every step moves what a ReLU sees in the same direction for all samples.
class BrightSpots final : public SampleSource {
 public:
  std::int64_t size() const override { return spots_.size(); }
  std::int32_t label(std::int64_t index) const override { return spots_.label(index); }
  void read(std::int64_t index, float* target) const override {
    spots_.read(index, target);
    for (int i = 0; i < 100; ++i) target[i] += 3.0f;
  }

 private:
  Spots spots_;
};

// There a large radius kills every ReLU while the objective falls from the large value that it had, to that
// of a constant answer. Such a run must not win.
TEST(FrankWolfeTraining, TakesNoRadiusThatKillsTheNetwork) {
  const BrightSpots spots;
  const Threads threads(2);
  const Loss loss(LossKind::hinge, MarginMatrix(3));
  int tempted = 0;
  double mean_accuracy = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Graph graph = small_net(false);
    Random random(seed, 5);
    for (float& w : graph.parameters()) w = static_cast<float>(0.2 * random.normal());
    TrainOptions some = options(kFrankWolfe);
    some.seed = seed;
    some.epochs = 30;
    Trainer trainer(graph, spots, nullptr, loss, some, threads);
    Racing racing;
    EXPECT_EQ(trainer.run(racing), TrainOutcome::finished);
    for (const auto& [radius, objective] : racing.race) tempted += std::abs(objective - 1) < 0.05;
    EXPECT_GT(racing.epochs.back().train_accuracy, 0.4) << seed;  // a constant answer: 0.33
    EXPECT_LT(racing.epochs.back().objective, racing.epochs.front().objective) << seed;
    mean_accuracy += racing.epochs.back().train_accuracy / 4;
  }
  EXPECT_GT(mean_accuracy, 0.6);
  EXPECT_GT(tempted, 0) << "no run came to a constant answer: nothing was tested";
}

TEST(TrainOptions, RejectsNonsense) {
  for (auto spoil : {+[](TrainOptions& o) { o.lambda = -1; }, +[](TrainOptions& o) { o.batch = 0; },
                     +[](TrainOptions& o) { o.solver = "newton"; }, +[](TrainOptions& o) { o.lambda = NAN; },
                     +[](TrainOptions& o) {
                       o.solver = kFrankWolfe; /* with a learning rate */
                     }}) {
    TrainOptions spoilt = options();
    spoil(spoilt);
    EXPECT_THROW(spoilt.validate(), Error);
  }
}

}  // namespace
}  // namespace lwsvm
