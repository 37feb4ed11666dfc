#include "engine/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace lwsvm {
namespace {

// target[j][i] = source[i][j] for an i x j matrix; blocked so that both sides stay in cache lines.
void transpose(const float* source, float* target, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t block = 16;
  for (std::int64_t r0 = 0; r0 < rows; r0 += block) {
    const std::int64_t r1 = std::min(rows, r0 + block);
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = r0; r < r1; ++r) target[c * rows + r] = source[r * columns + c];
  }
}

}  // namespace

std::string to_string(const Shape& shape) {
  return shape.empty() ? "1" : fmt::format("{}", fmt::join(shape, "x"));
}

bool same_order(const TensorSpec& a, const TensorSpec& b) {
  if (a.shape != b.shape) return false;
  if (a.layout == b.layout || a.shape.size() != 3) return true;
  return a.shape[0] == 1 || a.shape[1] * a.shape[2] == 1;
}

void relayout(const TensorSpec& from, const float* source, const TensorSpec& to, float* target, int samples) {
  LWSVM_CHECK(from.shape == to.shape);
  const std::int64_t size = from.size();
  if (same_order(from, to)) {
    std::memcpy(target, source, sizeof(float) * static_cast<std::size_t>(size * samples));
    return;
  }
  const std::int64_t channels = from.shape[0];
  const std::int64_t pixels = from.shape[1] * from.shape[2];
  const bool to_last = to.layout == Layout::channels_last;
  for (int i = 0; i < samples; ++i)
    transpose(source + i * size, target + i * size, to_last ? channels : pixels, to_last ? pixels : channels);
}

}  // namespace lwsvm
