#include "ssvm/averaging.h"

#include <algorithm>

#include "base/error.h"
#include "base/simd.h"
#include "ssvm/vector_math.h"

namespace lwsvm {
namespace {

LWSVM_SIMD void add_scaled(std::int64_t count, double weight, const float* __restrict change,
                           double* __restrict moment) {
  for (std::int64_t j = 0; j < count; ++j) moment[j] += weight * static_cast<double>(change[j]);
}

}  // namespace

void IterateAverage::add(std::span<const float> psi_change) {
  LWSVM_CHECK(psi_change.size() == moment_.size());
  const double weight = 0.5 * static_cast<double>(iterates_) * static_cast<double>(iterates_ + 1);
  ++iterates_;
  if (weight == 0) return;
  threads_.for_ranges(std::ssize(moment_), kVectorRange, [&](std::int64_t begin, std::int64_t end) {
    add_scaled(end - begin, weight, psi_change.data() + begin, moment_.data() + begin);
  });
}

std::vector<double> IterateAverage::average(std::span<const double> psi) const {
  std::vector<double> result(psi.begin(), psi.end());
  if (iterates_ == 0) return result;
  LWSVM_CHECK(psi.size() == moment_.size());
  const double total = 0.5 * static_cast<double>(iterates_) * static_cast<double>(iterates_ + 1);
  for (std::size_t j = 0; j < result.size(); ++j) result[j] -= moment_[j] / total;
  return result;
}

void IterateAverage::restart() {
  std::fill(moment_.begin(), moment_.end(), 0.0);
  iterates_ = 0;
}

void IterateAverage::visit(StateArchive& archive) {
  archive.array_of_same_size("average.moment", moment_);
  archive.scalar("average.iterates", iterates_);
}

}  // namespace lwsvm
