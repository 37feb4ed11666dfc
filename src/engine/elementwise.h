// Loops over arrays, compiled for what the processor has (base/simd.h).
#pragma once

#include <cstdint>

#include "engine/clamp.h"

namespace lwsvm {

void add_to(const float* __restrict source, std::int64_t count, float* __restrict target);
void subtract(const float* a, const float* b, std::int64_t count, float* out);
void clamp_all(const Clamp& clamp, std::int64_t count, float* values);
// Short sums in float, the long one in double.
double dot(const float* a, const float* b, std::int64_t count);

}  // namespace lwsvm
