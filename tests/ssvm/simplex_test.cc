#include "ssvm/simplex.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace lwsvm {
namespace {

TEST(Simplex, ProjectionSatisfiesTheOptimalityConditions) {
  Random random(3);
  for (int trial = 0; trial < 500; ++trial) {
    const auto size = static_cast<std::size_t>(1 + random.below(40));
    const double scale = std::pow(10.0, random.uniform(-3, 6));
    std::vector<double> v(size), a(size);
    for (double& x : v) x = scale * random.normal() + (trial % 3 == 0 ? 1e6 : 0);
    if (trial % 5 == 0) v[0] = v[size - 1];  // a tie
    project_to_simplex(v, a);
    double sum = 0, threshold = -1e300;
    for (std::size_t y = 0; y < size; ++y) {
      EXPECT_GE(a[y], 0);
      sum += a[y];
      if (a[y] > 0) threshold = std::max(threshold, v[y] - a[y]);
    }
    EXPECT_NEAR(sum, 1, 1e-9);
    for (std::size_t y = 0; y < size; ++y) {  // v - a is tau where a > 0 and at most tau elsewhere
      const double tolerance = 1e-9 * (1 + std::abs(threshold));
      if (a[y] > 0)
        EXPECT_NEAR(v[y] - a[y], threshold, tolerance);
      else
        EXPECT_LE(v[y], threshold + tolerance);
    }
  }
}

TEST(Simplex, ProjectionIsTheNearestPointOfAGrid) {
  Random random(4);
  const int grid = 60;
  for (int trial = 0; trial < 50; ++trial) {
    const std::vector<double> v = {random.normal(), random.normal(), random.normal()};
    std::vector<double> a(3);
    project_to_simplex(v, a);
    const auto distance = [&](double x, double y, double z) {
      return std::hypot(v[0] - x, v[1] - y, v[2] - z);
    };
    double nearest = 1e300;
    for (int i = 0; i <= grid; ++i)
      for (int j = 0; i + j <= grid; ++j)
        nearest =
            std::min(nearest, distance(double(i) / grid, double(j) / grid, double(grid - i - j) / grid));
    EXPECT_LE(distance(a[0], a[1], a[2]), nearest + 1e-12);
    EXPECT_GE(distance(a[0], a[1], a[2]), nearest - 2.0 / grid);
  }
}

}  // namespace
}  // namespace lwsvm
