#include "ssvm/averaging.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace lwsvm {
namespace {

TEST(Averaging, EqualsTheRecursionWithWeightsKOverKPlus2) {
  const Threads threads(1);
  const int size = 7;
  Random random(2);
  IterateAverage average(size, threads);
  std::vector<double> psi(size, 0.0);
  for (const int iterates : {1, 2, 300, 5}) {  // each after a restart that keeps Psi
    average.restart();
    EXPECT_EQ(average.average(psi), psi);
    std::vector<double> expected(size, 1e9);  // forgotten: the first weight is 0/2
    for (int k = 0; k < iterates; ++k) {
      std::vector<float> change(size);
      for (int j = 0; j < size; ++j) {
        change[j] = static_cast<float>(random.normal());
        psi[j] += change[j];
        expected[j] = k / (k + 2.0) * expected[j] + 2.0 / (k + 2.0) * psi[j];
      }
      average.add(change);
    }
    const auto result = average.average(psi);
    for (int j = 0; j < size; ++j) EXPECT_NEAR(result[j], expected[j], 1e-11 * (1 + std::abs(expected[j])));
  }
}

}  // namespace
}  // namespace lwsvm
