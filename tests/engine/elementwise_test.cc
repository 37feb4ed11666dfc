#include "engine/elementwise.h"

#include <gtest/gtest.h>

#include <vector>

namespace lwsvm {
namespace {

// Small whole numbers, so that every instruction set gives the same bits; every length, so that every rest of
// a register is met; after the end nothing changes.
struct Arrays {
  std::vector<float> a, b;

  explicit Arrays(std::size_t n) : a(n + 1), b(n + 1) {
    for (std::size_t i = 0; i <= n; ++i) {
      a[i] = static_cast<float>(i % 7) - 3;
      b[i] = static_cast<float>(i % 5) + 1;
    }
  }
};

constexpr std::size_t kLengths = 300;  // beyond one stretch of dot

TEST(Elementwise, EveryLengthGivesWhatTheFormulaSays) {
  for (std::size_t n = 0; n < kLengths; ++n) {
    const Arrays given(n);
    const auto count = static_cast<std::int64_t>(n);
    std::vector<float> sum = given.b, difference(n + 1, 99.0f);
    add_to(given.a.data(), count, sum.data());
    subtract(given.a.data(), given.b.data(), count, difference.data());
    double product = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(sum[i], given.a[i] + given.b[i]) << n;
      ASSERT_EQ(difference[i], given.a[i] - given.b[i]) << n;
      product += static_cast<double>(given.a[i]) * static_cast<double>(given.b[i]);
    }
    EXPECT_EQ(sum[n], given.b[n]) << n;
    EXPECT_EQ(difference[n], 99.0f) << n;
    EXPECT_EQ(dot(given.a.data(), given.b.data(), count), product) << n;
  }
}

TEST(Elementwise, SubtractWorksInPlace) {
  Arrays given(50);
  const std::vector<float> before = given.a;
  subtract(given.a.data(), given.b.data(), 50, given.a.data());
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(given.a[i], before[i] - given.b[i]);
}

}  // namespace
}  // namespace lwsvm
