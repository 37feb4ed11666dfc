// Sums over long vectors by several threads, with bits that do not depend on how many there are: the work is
// cut into pieces by its size alone, and partial sums are added in the order of the pieces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/threads.h"

namespace lwsvm {

inline constexpr std::int64_t kVectorRange = 1 << 16;

// sum over ranges of part(begin, end), part returning a value with +=.
template <typename Sum, typename Part>
Sum sum_over_ranges(const Threads& threads, std::int64_t size, const Part& part) {
  const std::int64_t pieces = (size + kVectorRange - 1) / kVectorRange;
  if (pieces <= 1) return size > 0 ? part(std::int64_t{0}, size) : Sum{};
  std::vector<Sum> partial(static_cast<std::size_t>(pieces));
  threads.for_ranges(size, kVectorRange, [&](std::int64_t begin, std::int64_t end) {
    partial[begin / kVectorRange] = part(begin, end);
  });
  Sum total{};
  for (const Sum& each : partial) total += each;
  return total;
}

// By one thread, summed in double.
double exact_dot(const float* a, const float* b, std::int64_t count);
double exact_dot(const float* a, const double* b, std::int64_t count);

double dot(const Threads& threads, std::span<const float> a, std::span<const double> b);
double squared_norm(const Threads& threads, std::span<const float> a);
double squared_distance(const Threads& threads, std::span<const float> a, std::span<const float> b);

}  // namespace lwsvm
