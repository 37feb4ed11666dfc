#include "ssvm/vector_math.h"

#include "base/error.h"
#include "base/simd.h"

namespace lwsvm {

namespace {

template <typename Other>
LWSVM_SIMD double dot_range(const float* a, const Other* b, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < count; ++j) sum += static_cast<double>(a[j]) * static_cast<double>(b[j]);
  return sum;
}

}  // namespace

double exact_dot(const float* a, const float* b, std::int64_t count) {
  return dot_range(a, b, count);
}

double exact_dot(const float* a, const double* b, std::int64_t count) {
  return dot_range(a, b, count);
}

double dot(const Threads& threads, std::span<const float> a, std::span<const double> b) {
  return sum_over_ranges<double>(threads, std::ssize(a), [&](std::int64_t begin, std::int64_t end) {
    return dot_range(a.data() + begin, b.data() + begin, end - begin);
  });
}

double squared_norm(const Threads& threads, std::span<const float> a) {
  return sum_over_ranges<double>(threads, std::ssize(a), [&](std::int64_t begin, std::int64_t end) {
    return dot_range(a.data() + begin, a.data() + begin, end - begin);
  });
}

double squared_distance(const Threads& threads, std::span<const float> a, std::span<const float> b) {
  LWSVM_CHECK(a.size() == b.size());
  return sum_over_ranges<double>(threads, std::ssize(a), [&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      const double difference = static_cast<double>(a[j]) - static_cast<double>(b[j]);
      sum += difference * difference;
    }
    return sum;
  });
}

}  // namespace lwsvm
