#include "ssvm/stopping.h"

#include <gtest/gtest.h>

namespace lwsvm {
namespace {

TEST(Stopping, ToleratedGapIsAFractionOfThePossibleFall) {
  StoppingOptions options;
  options.relative_gap = 0;
  EXPECT_DOUBLE_EQ(tolerated_gap(options, 3.0, 2.2, 2.0), 0.1);
  // A gap within it means that the primal fell: P(w) = D + gap < P(anchor).
  EXPECT_LT(2.0 + tolerated_gap(options, 3.0, 2.2, 2.0), 3.0);
  // Scale free.
  EXPECT_DOUBLE_EQ(tolerated_gap(options, 3e6, 2.2e6, 2e6), 0.1e6);
}

TEST(Stopping, AnOptimalAnchorStopsByTheRelativeFloor) {
  const StoppingOptions options;
  EXPECT_GT(tolerated_gap(options, 2.0, 2.0, 2.0), 0.0);
  EXPECT_DOUBLE_EQ(tolerated_gap(options, 2.0, 2.0, 2.0), 2e-6);
}

TEST(Stopping, ThePapersRuleIsOffUnlessAskedFor) {
  StoppingOptions options;
  EXPECT_FALSE(dual_stalled(options, 1.0, 1.0));
  options.min_dual_rise = 0.01;
  EXPECT_TRUE(dual_stalled(options, 1.0, 1.009));
  EXPECT_FALSE(dual_stalled(options, 1.0, 1.011));
  EXPECT_FALSE(dual_stalled(options, 0.0, 0.001));
}

}  // namespace
}  // namespace lwsvm
