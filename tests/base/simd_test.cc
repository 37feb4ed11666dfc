#include "base/simd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
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

LWSVM_SIMD double multiply_and_add(double a, double b, double c) {
  return a * b + c;
}

// From AVX2 on a multiply-add is rounded once: the last bits tell which version of a function runs.
TEST(Simd, TheVersionThatRunsIsTheOneThatIsTold) {
  const std::string level = simd_level();
  if (level == "as compiled") GTEST_SKIP() << "this build has one version of each loop";
  const double a = 1 + 1e-10, b = 1 - 1e-10;
  const bool rounds_once = multiply_and_add(a, b, -1.0) == std::fma(a, b, -1.0);
  EXPECT_EQ(rounds_once, level != "SSE2") << level;
}

TEST(Simd, TheEnvironmentHoldsItBack) {
  const std::string level = simd_level();
  if (level == "as compiled") GTEST_SKIP() << "this build has one version of each loop";
  const char* most = std::getenv("LWSVM_MAX_ISA");
  if (!most) return;  // tests/base/CMakeLists.txt runs this once more for each lesser instruction set
  EXPECT_NE(level, "AVX-512");
  EXPECT_EQ(level == "SSE2", std::string(most) == "SSE41") << most << " gives " << level;
}

}  // namespace
}  // namespace lwsvm
