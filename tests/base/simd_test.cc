#include "base/simd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

namespace lwsvm {
namespace {

LWSVM_SIMD double multiply_and_add(double a, double b, double c) {
  return a * b + c;
}

// What the program's loops compute is tested where they are (tests/engine/elementwise_test.cc, ...); here,
// which version of them is chosen. From AVX2 on a multiply-add is rounded once: the last bits tell which
// version of a function runs.
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
  const char* max_isa = std::getenv("LWSVM_MAX_ISA");
  if (!max_isa) return;  // tests/base/CMakeLists.txt runs this once more for each lesser instruction set
  EXPECT_NE(level, "AVX-512");
  EXPECT_EQ(level == "SSE2", std::string(max_isa) == "SSE41") << max_isa << " gives " << level;
}

}  // namespace
}  // namespace lwsvm
