#include "ssvm/steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace lwsvm {
namespace {

struct BatchToy {
  std::vector<float> gram;
  std::vector<double> gaps;
};

// Directions in a space of few dimensions, so that many are opposed or dependent.
BatchToy random_batch(int count, int dimension, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> rows(static_cast<std::size_t>(count * dimension));
  for (double& x : rows) x = random.normal();
  BatchToy toy;
  toy.gram.resize(static_cast<std::size_t>(count) * count);
  for (int b = 0; b < count; ++b) {
    toy.gaps.push_back(random.uniform(0, 2));
    for (int c = 0; c < count; ++c)
      toy.gram[b * count + c] = static_cast<float>(std::inner_product(rows.begin() + b * dimension,
                                                                      rows.begin() + (b + 1) * dimension,
                                                                      rows.begin() + c * dimension, 0.0));
  }
  return toy;
}

TEST(Steps, ClosedFormEqualsAFineGridSearch) {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const double gap = random.uniform(0, 2), norm = random.uniform(0, 20), kappa = random.uniform(0.01, 1);
    const auto value = [&](double s) { return s * gap - 0.5 * kappa * s * s * norm; };
    double best = 0;
    for (int k = 0; k <= 10000; ++k)
      if (value(k / 10000.0) > value(best)) best = k / 10000.0;
    EXPECT_NEAR(closed_form_step(gap, norm, kappa), best, 1e-4);
  }
}

TEST(Steps, SingleStepEqualsAFineGridSearch) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const BatchToy toy = random_batch(12, 5, seed);
    std::vector<float> steps(12);
    const auto value = [&](double s) {
      std::fill(steps.begin(), steps.end(), static_cast<float>(s));
      return dual_gain(toy.gram, toy.gaps, 0.3, steps);
    };
    double best = 0;
    for (int k = 0; k <= 2000; ++k)
      if (value(k / 2000.0) > value(best)) best = k / 2000.0;
    EXPECT_NEAR(single_step(toy.gram, toy.gaps, 0.3), best, 1e-3);
  }
}

TEST(Steps, PerBlockNeverGainLessThanTheSingleStepWhateverTheSweeps) {
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    for (const int sweeps : {0, 1, 2, 5}) {
      const BatchToy toy = random_batch(20, 1 + static_cast<int>(seed % 30), seed);
      const double kappa = 0.01 * static_cast<double>(1 + seed);
      std::vector<float> steps(20), uniform(20, static_cast<float>(single_step(toy.gram, toy.gaps, kappa)));
      choose_steps(toy.gram, toy.gaps, kappa, steps, {.sweeps = sweeps, .enough = 0});
      for (const float step : steps) EXPECT_TRUE(step >= 0 && step <= 1);
      const double single = dual_gain(toy.gram, toy.gaps, kappa, uniform);
      EXPECT_GE(dual_gain(toy.gram, toy.gaps, kappa, steps), single - 1e-6 * (1 + single));
      EXPECT_GE(single, 0);
    }
}

TEST(Steps, ManySweepsSatisfyTheOptimalityConditions) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const int count = 15;
    const BatchToy toy = random_batch(count, 30, seed);
    const double kappa = 0.1;
    std::vector<float> steps(count);
    choose_steps(toy.gram, toy.gaps, kappa, steps, {.sweeps = 2000, .enough = 0});
    for (int b = 0; b < count; ++b) {
      double slope = toy.gaps[b];
      for (int c = 0; c < count; ++c) slope -= kappa * toy.gram[b * count + c] * steps[c];
      EXPECT_TRUE(steps[b] == 1 || slope <= 1e-4) << slope;
      EXPECT_TRUE(steps[b] == 0 || slope >= -1e-4) << slope;
    }
  }
}

TEST(Steps, ABlockThatMovesNothingButGainsTakesAWholeStep) {
  const std::vector<float> gram = {0, 0, 0, 4};
  const std::vector<double> gaps = {0.5, 0.1};
  std::vector<float> steps(2);
  choose_steps(gram, gaps, 1.0, steps);
  EXPECT_EQ(steps[0], 1.0f);
  EXPECT_NEAR(steps[1], 0.025, 1e-6);
  EXPECT_EQ(closed_form_step(0.5, 0, 1), 1);
  EXPECT_EQ(closed_form_step(0, 0, 1), 0);
}

}  // namespace
}  // namespace lwsvm
