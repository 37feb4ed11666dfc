#include "engine/parallel_gemm.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace lwsvm {
namespace {

std::vector<float> random_values(std::int64_t count, Random& random) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  return values;
}

TEST(ParallelGemm, IsTheProductWithTheSameBitsForAnyNumberOfThreads) {
  struct Size {
    std::int64_t m, n, k;
  };
  Random random(8);
  for (const auto [m, n, k] : {Size{5, 7, 3}, Size{200, 90, 101}, Size{130, 1000, 33}, Size{10, 1201, 128}}) {
    for (const Transpose ta : {Transpose::no, Transpose::yes}) {
      for (const Transpose tb : {Transpose::no, Transpose::yes}) {
        SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << (ta == Transpose::yes ? " A'" : " A")
                                        << (tb == Transpose::yes ? " B'" : " B"));
        const std::vector<float> a = random_values(m * k, random), b = random_values(k * n, random),
                                 start = random_values(m * n, random);
        const std::int64_t lda = ta == Transpose::yes ? m : k, ldb = tb == Transpose::yes ? k : n;
        const auto product = [&](int threads) {
          std::vector<float> c = start;
          parallel_gemm(Threads(threads), ta, tb, m, n, k, 0.5f, a.data(), lda, b.data(), ldb, 1.0f, c.data(),
                        n);
          return c;
        };
        const std::vector<float> alone = product(1);
        EXPECT_EQ(product(2), alone);
        EXPECT_EQ(product(3), alone);
        std::vector<float> expected = start;
        gemm(ta, tb, m, n, k, 0.5f, a.data(), lda, b.data(), ldb, 1.0f, expected.data(), n);
        for (std::size_t i = 0; i < alone.size(); ++i) ASSERT_NEAR(alone[i], expected[i], 2e-5) << i;
      }
    }
  }
}

}  // namespace
}  // namespace lwsvm
