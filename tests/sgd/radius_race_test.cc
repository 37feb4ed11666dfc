#include "sgd/radius_race.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "base/random.h"

namespace lwsvm {
namespace {

// A landscape whose best radius is known: the objective is a parabola in log(radius).
double valley(double radius, double best) {
  return 1 + std::pow(std::log(radius / best), 2);
}

// Where no other radius gains half as much.
TEST(RadiusRace, FindsTheBestWithinAFactorOfThree) {
  for (double best : {2e-6, 1e-4, 5e-4, 1e-3, 4e-3, 3e-2}) {
    std::set<double> tried;
    const auto winner = race_for_radius(1.5, [&](double radius) {
      EXPECT_TRUE(tried.insert(radius).second) << "tried twice";
      return ShortRun{valley(radius, best), true};
    });
    ASSERT_TRUE(winner);
    EXPECT_LE(std::abs(std::log(*winner / best)), std::log(3.0)) << best;
  }
}

// Radii from 3e-3 on gain nearly the same.
ShortRun flat_above(double radius) {
  return {radius < 2e-3 ? 0.9 : 0.5 - 0.001 * std::log(radius / 1e-3), true};
}

TEST(RadiusRace, TakesTheSmallestThatIsNearlyAsGood) {
  EXPECT_NEAR(*race_for_radius(1, flat_above), 3e-3, 1e-9);
}

// The dead network has the lower objective of the two.
TEST(RadiusRace, ADeadNetworkDoesNotWin) {
  const auto winner = race_for_radius(5, [](double radius) {
    return radius > 2e-3 ? ShortRun{1.0, false} : ShortRun{1.5, true};
  });
  EXPECT_LT(*winner, 2e-3);
}

TEST(RadiusRace, WhereNothingIsGainedTheSmallestIsTaken) {
  std::vector<double> tried;
  const auto winner = race_for_radius(1, [&](double radius) {
    tried.push_back(radius);
    return ShortRun{2, true};
  });
  EXPECT_EQ(*winner, *std::min_element(tried.begin(), tried.end()));
}

// As of a network that knows its samples by heart: all but small radii lose, the larger ones by chance a
// little less.
TEST(RadiusRace, WhereLargerOnesLoseHardlyLessSmallerOnesAreTried) {
  const auto winner = race_for_radius(1, [&](double radius) {
    EXPECT_LT(radius, 5e-3);
    return ShortRun{radius > 5e-5 ? 1.1 - 0.1 * radius : 0.9, true};
  });
  EXPECT_LT(*winner, 5e-5);
}

TEST(RadiusForALength, GrowsWithTheStepsThatThereIsTimeFor) {
  for (double steps = 10; steps < 1e5; steps *= 2) EXPECT_LE(radius_for(steps), radius_for(2 * steps));
  EXPECT_LT(radius_for(20), radius_for(400));
  EXPECT_LT(radius_for(400), radius_for(5000));
}

TEST(RadiusForALength, IsTakenWhereItGainsAndALargerOneDoesNotGainClearlyMore) {
  std::vector<double> longer_runs;
  const auto winner = radius_that_gains(1e-3, 1, [&](double radius, RunLength length) {
    if (length == RunLength::longer) longer_runs.push_back(radius);
    return ShortRun{radius < 5e-4   ? 0.1
                    : radius < 2e-3 ? 0.9
                                    : 0.89,
                    true};  // a smaller one would seem better
  });
  EXPECT_EQ(*winner, 1e-3);
  EXPECT_EQ(longer_runs, std::vector{1e-3});
}

// As of a network that has hardly been trained: it gains in proportion to how far it may go.
TEST(RadiusForALength, GivesWayToLargerOnesThatGainClearlyMore) {
  for (const double best : {2.5e-3, 1e-2, 8e-2}) {
    const auto winner = radius_that_gains(1e-3, 1, [&](double radius, RunLength) {
      return ShortRun{1 - 0.2 * std::min(radius, best) / best, true};
    });
    EXPECT_GE(*winner * kRadiusStep, best);
    EXPECT_LE(*winner, best * kRadiusStep);
  }
}

TEST(RadiusForALength, GivesWayToTheFirstSmallerOneThatDoesNotLoseMuch) {
  for (const double limit : {2e-3, 5e-4, 2e-5}) {
    const auto winner = radius_that_gains(3e-3, 1, [&](double radius, RunLength) {
      return ShortRun{radius < limit ? 1.02 : 1.2, true};
    });
    EXPECT_LT(*winner, limit);
    EXPECT_GE(*winner * kRadiusStep * kRadiusStep, limit);
  }
}

// What a shorter run gained does not count then.
TEST(RadiusForALength, MustNotLoseMuchInTheLongerRun) {
  const auto winner = radius_that_gains(1e-3, 1, [](double radius, RunLength length) {
    const double gained = length == RunLength::shorter ? 100 * radius : radius < 5e-4 ? 0.1 : -0.1;
    return ShortRun{1 - gained, true};
  });
  EXPECT_LT(*winner, 5e-4);
  EXPECT_GT(*winner, 1e-4);
}

TEST(RadiusForALength, ADeadNetworkGainsNothing) {
  const auto winner = radius_that_gains(3e-3, 5, [](double radius, RunLength) {
    return ShortRun{1.0, radius < 5e-4};
  });
  EXPECT_LT(*winner, 5e-4);
}

TEST(RadiusForALength, ThereIsNoSecondTrialWhereThereIsNoTimeForIt) {
  std::set<double> tried;
  const auto winner = radius_that_gains(1e-3, 1, [&](double radius, RunLength) {
    tried.insert(radius);
    return ShortRun{1 + radius, true, true};
  });
  EXPECT_EQ(*winner, 1e-3);
  EXPECT_EQ(tried.size(), 1u);
}

TEST(RadiusForALength, EndsWhenAskedTo) {
  for (int last = 1; last < 5; ++last) {
    int runs = 0;
    const auto winner = radius_that_gains(3e-3, 1, [&](double, RunLength) -> std::optional<ShortRun> {
      if (++runs == last) return std::nullopt;
      return ShortRun{1.5, true};
    });
    EXPECT_FALSE(winner);
    EXPECT_EQ(runs, last);
  }
}

TEST(RadiusRace, EndsWhenAskedTo) {
  int runs = 0;
  const auto winner = race_for_radius(1, [&](double) -> std::optional<ShortRun> {
    if (++runs == 2) return std::nullopt;
    return ShortRun{0.5, true};
  });
  EXPECT_FALSE(winner);
  EXPECT_EQ(runs, 2);
}

class Labels final : public SampleSource {
 public:
  explicit Labels(std::vector<std::int32_t> labels) : labels_(std::move(labels)) {}
  std::int64_t size() const override { return std::ssize(labels_); }
  std::int32_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }
  void read(std::int64_t, float*) const override {}

 private:
  std::vector<std::int32_t> labels_;
};

// Against a search over constant scores.
TEST(ConstantAnswer, IsTheBestOfAll) {
  Random random(3);
  for (double share : {0.2, 0.4, 0.7, 0.95}) {
    std::vector<std::int32_t> labels(200);
    for (auto& label : labels)
      label = random.uniform() < share ? 0 : 1 + static_cast<std::int32_t>(random.below(2));
    const Labels source(labels);
    const Loss loss(LossKind::hinge, MarginMatrix(3));
    double best = 1e9;
    for (double a = 0; a <= 1.5; a += 0.25)
      for (double b = 0; b <= 1.5; b += 0.25) {
        std::vector<float> scores;
        for (std::size_t i = 0; i < labels.size(); ++i)
          scores.insert(scores.end(), {static_cast<float>(a), static_cast<float>(b), 0.0f});
        best = std::min(best, loss.evaluate(scores.data(), labels, nullptr, 1).mean_loss());
      }
    EXPECT_NEAR(constant_answer(source, loss).loss, best, 1e-6) << share;
  }
}

}  // namespace
}  // namespace lwsvm
