#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lwsvm {
namespace {

TEST(Random, TheSameSeedGivesTheSameNumbersAndStateContinues) {
  Random a(7, 1, 2), b(7, 1, 2), other(7, 1, 3);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const auto x = a.next();
    EXPECT_EQ(x, b.next());
    differs |= x != other.next();
  }
  EXPECT_TRUE(differs);
  Random continued(a.state());
  EXPECT_EQ(continued.next(), a.next());
}

TEST(Random, BelowIsUniform) {
  Random random(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
  for (int count : counts) EXPECT_NEAR(count, 10000, 500);  // 5 standard deviations
}

TEST(Random, NormalHasItsMoments) {
  Random random(3);
  double sum = 0, squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 1e5, 0.0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1.0, 0.03);
}

TEST(Random, PermutationHoldsEveryIndexOnce) {
  Random random(5);
  auto order = random_permutation(1000, random);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[i], i);
}

}  // namespace
}  // namespace lwsvm
