#include "engine/elementwise.h"

#include <algorithm>

#include "base/simd.h"

namespace lwsvm {

LWSVM_SIMD void add_to(const float* __restrict source, std::int64_t count, float* __restrict target) {
  for (std::int64_t i = 0; i < count; ++i) target[i] += source[i];
}

LWSVM_SIMD void subtract(const float* a, const float* b, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] - b[i];
}

LWSVM_SIMD void clamp_all(const Clamp& clamp, std::int64_t count, float* values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = clamp(values[i]);
}

LWSVM_SIMD double dot(const float* a, const float* b, std::int64_t count) {
  constexpr std::int64_t stretch = 256;
  double total = 0;
  for (std::int64_t begin = 0; begin < count; begin += stretch) {
    float part = 0;
    const std::int64_t end = std::min(count, begin + stretch);
#pragma omp simd reduction(+ : part)
    for (std::int64_t i = begin; i < end; ++i) part += a[i] * b[i];
    total += static_cast<double>(part);
  }
  return total;
}

}  // namespace lwsvm
