#include "base/simd.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace lwsvm {
namespace {

LWSVM_SIMD void add_scaled(std::size_t n, float a, const float* __restrict x, float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

// Small whole numbers, so that every level gives the same bits.
TEST(Simd, EveryLengthGivesWhatTheFormulaSays) {
  for (std::size_t n = 0; n < 100; ++n) {
    std::vector<float> x(n);
    std::vector<float> y(n);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<float>(i);
      y[i] = static_cast<float>(2 * i + 1);
    }
    add_scaled(n, 3, x.data(), y.data());
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], static_cast<float>(5 * i + 1));
  }
}

}  // namespace
}  // namespace lwsvm
