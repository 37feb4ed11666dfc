#include "run/recorder.h"

#include <gtest/gtest.h>

#include "base/stopwatch.h"
#include "run/stop_policy.h"

namespace lwsvm::run {
namespace {

struct Listener final : RunObserver {
  bool stop = false;
  double left = std::numeric_limits<double>::infinity();
  double heard_at = -1;
  int safe_points = 0, epochs_ended = 0;

  void on_update(const LayerUpdate& /*update*/, double seconds) override { heard_at = seconds; }
  void on_safe_point(bool epoch_ended) override {
    ++safe_points;
    epochs_ended += epoch_ended;
  }
  bool stop_requested() override { return stop; }
  double seconds_left() override { return left; }
};

TEST(Recorder, TellsEverybodyWithTheRunsOwnSeconds) {
  Listener first, second;
  Recorder recorder({&first});
  recorder.add(second);
  recorder.count_seconds([] { return 7.5; });
  recorder.on_update({});
  EXPECT_EQ(first.heard_at, 7.5);
  EXPECT_EQ(second.heard_at, 7.5);
}

TEST(Recorder, StopsWhenAnybodyAsksForIt) {
  Listener first, second;
  Recorder recorder({&first, &second});
  EXPECT_FALSE(recorder.stop_requested());
  second.stop = true;
  EXPECT_TRUE(recorder.stop_requested());
}

TEST(Recorder, HasTheLeastTimeThatAnybodyHas) {
  Listener first, second;
  Recorder recorder({&first, &second});
  EXPECT_EQ(recorder.seconds_left(), std::numeric_limits<double>::infinity());
  second.left = 3;
  EXPECT_EQ(recorder.seconds_left(), 3);
}

TEST(Recorder, KnowsTheSafePointsOfTrainerAndRefiner) {
  Listener listener;
  Recorder recorder({&listener});
  static_cast<TrainObserver&>(recorder).on_safe_point(true);
  static_cast<RefineObserver&>(recorder).on_safe_point();
  EXPECT_EQ(listener.safe_points, 2);
  EXPECT_EQ(listener.epochs_ended, 1);
}

TEST(StopPolicy, LeavesTimeForWhatComesAfterTheLastMove) {
  const Stopwatch clock;
  EXPECT_EQ(StopPolicy(clock, 0).seconds_left(), std::numeric_limits<double>::infinity());
  StopPolicy policy(clock, 100);
  const double all = policy.seconds_left();
  EXPECT_LE(all, 100);
  policy.reserve(10);
  policy.count_earlier(20);
  EXPECT_LE(policy.seconds_left(), all - 30);
}

}  // namespace
}  // namespace lwsvm::run
