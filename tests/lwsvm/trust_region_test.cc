// The rules of the trust region, one by one.
#include "lwsvm/trust_region.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace lwsvm {
namespace {

constexpr double lambda = 1e-3, mu = 0.02;

// F before is 1; the model and the truth fall by these.
Trial trial(double predicted, double actual) {
  return {1.0, 1.0 - actual, 1.0 - predicted};
}

TEST(TrustRegion, AcceptsExactlyWhenTheObjectiveFell) {
  Random random(1, 41);
  for (int i = 0; i < 1000; ++i) {
    const Trial t = trial(random.uniform(-1, 1), random.uniform(-1, 1));
    EXPECT_EQ(judge(t) == Verdict::accept, t.after < t.before);
  }
  EXPECT_NE(judge(trial(0.1, 0.0)), Verdict::accept) << "strictly lower";
  EXPECT_NE(judge({1.0, std::nan(""), 0.5}), Verdict::accept);
  EXPECT_NE(judge({1.0, HUGE_VAL, -HUGE_VAL}), Verdict::accept);
}

TEST(TrustRegion, BlamesTheModelWhenItPromisedAndTheSolveWhenItDidNot) {
  EXPECT_EQ(judge(trial(0.1, -0.1)), Verdict::reject);
  EXPECT_EQ(judge(trial(-0.1, -0.1)), Verdict::solve_further);
  EXPECT_EQ(judge(trial(0.0, 0.0)), Verdict::solve_further);
}

TEST(TrustRegion, TrustsMoreAfterAGoodPredictionAndLessAfterABadOne) {
  const auto after = [](double ratio) {
    const Trial t = trial(0.1, 0.1 * ratio);
    EXPECT_NEAR(t.ratio(), ratio, 1e-12);
    return next_mu(t, judge(t), mu, lambda);
  };
  EXPECT_DOUBLE_EQ(after(1.0), mu / 3);
  EXPECT_DOUBLE_EQ(after(0.76), mu / 3);
  EXPECT_DOUBLE_EQ(after(0.74), mu);
  EXPECT_DOUBLE_EQ(after(0.26), mu);
  EXPECT_DOUBLE_EQ(after(0.24), 3 * mu);
  EXPECT_DOUBLE_EQ(after(-1.0), 4 * mu);
}

TEST(TrustRegion, MuStaysWhenTheSolveWasTooRoughAndGrowsWhereItOnlyGotLucky) {
  const Trial rough = trial(-0.1, -0.2), lucky = trial(-0.1, 0.2);
  EXPECT_DOUBLE_EQ(next_mu(rough, judge(rough), mu, lambda), mu);
  EXPECT_DOUBLE_EQ(next_mu(lucky, judge(lucky), mu, lambda), 3 * mu);
}

TEST(TrustRegion, MuNeverFallsBelowItsFloor) {
  double now = mu;
  for (int i = 0; i < 30; ++i) {
    const double next = next_mu(trial(0.1, 0.1), Verdict::accept, now, lambda);
    EXPECT_LE(next, now);
    now = next;
  }
  EXPECT_DOUBLE_EQ(now, 0.01 * lambda);
}

TEST(TrustRegion, RejectsWhatIsNotFinite) {
  for (const double after : {std::nan(""), HUGE_VAL, -HUGE_VAL})
    for (const double model : {0.5, 1.5, std::nan("")})
      EXPECT_EQ(judge({1.0, after, model}), Verdict::reject) << after << ", " << model;
}

}  // namespace
}  // namespace lwsvm
