#include "ssvm/simplex.h"

#include <algorithm>

#include "base/error.h"

namespace lwsvm {

void project_to_simplex(std::span<const double> v, std::span<double> projection) {
  LWSVM_CHECK(!v.empty() && v.size() == projection.size());
  // What is at or below max - 1 ends at zero, so only the others are candidates: one round does what several
  // would. Relative to the maximum, large common values cost no digits.
  const double top = *std::max_element(v.begin(), v.end());
  std::size_t candidates = 0;
  double sum = 0;
  for (const double value : v)
    if (value - top > -1.0) {
      projection[candidates++] = value - top;
      sum += value - top;
    }
  double threshold = (sum - 1.0) / static_cast<double>(candidates);
  for (bool dropped = true; dropped;) {
    dropped = false;
    std::size_t kept = 0;
    sum = 0;
    for (std::size_t k = 0; k < candidates; ++k) {
      if (projection[k] <= threshold) {
        dropped = true;
        continue;
      }
      sum += projection[k];
      projection[kept++] = projection[k];
    }
    candidates = kept;
    threshold = (sum - 1.0) / static_cast<double>(candidates);
  }
  for (std::size_t y = 0; y < v.size(); ++y) projection[y] = std::max(v[y] - top - threshold, 0.0);
}

}  // namespace lwsvm
