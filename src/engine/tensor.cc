#include "engine/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/simd.h"

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

// element(k): where element k of a sample, counted channels first, lies in a sample of a layout that is not
// interleaved.
struct ElementOrder {
  std::int64_t channels = 1, pixels;

  explicit ElementOrder(const TensorSpec& spec) : pixels(spec.size()) {
    if (spec.layout != Layout::channels_last || spec.shape.size() != 3) return;
    channels = spec.shape[0];
    pixels = spec.shape[1] * spec.shape[2];
  }
  // visit(k, element(k)), neighbours in the sample after each other.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::int64_t p = 0, element = 0; p < pixels; ++p)
      for (std::int64_t c = 0; c < channels; ++c, ++element) visit(c * pixels + p, element);
  }
};

void interleave(const TensorSpec& from, const float* source, const TensorSpec& to, float* target,
                int samples) {
  const std::int64_t size = from.size();
  for (std::int64_t first = 0; first < samples; first += to.lanes) {
    const float* group = source + first * size;
    float* lanes = target + first * size;
    const std::int64_t here = std::min<std::int64_t>(to.lanes, samples - first);
    ElementOrder(from).for_each([&](std::int64_t k, std::int64_t element) {
      for (std::int64_t lane = 0; lane < here; ++lane)
        lanes[k * to.lanes + lane] = group[lane * size + element];
      for (std::int64_t lane = here; lane < to.lanes; ++lane) lanes[k * to.lanes + lane] = 0.0f;
    });
  }
}

void separate(const TensorSpec& from, const float* source, const TensorSpec& to, float* target, int samples) {
  const std::int64_t size = from.size();
  for (std::int64_t first = 0; first < samples; first += from.lanes) {
    const float* lanes = source + first * size;
    float* group = target + first * size;
    const std::int64_t here = std::min<std::int64_t>(from.lanes, samples - first);
    ElementOrder(to).for_each([&](std::int64_t k, std::int64_t element) {
      for (std::int64_t lane = 0; lane < here; ++lane)
        group[lane * size + element] = lanes[k * from.lanes + lane];
    });
  }
}

}  // namespace

std::string to_string(const Shape& shape) {
  return shape.empty() ? "1" : fmt::format("{}", fmt::join(shape, "x"));
}

bool same_order(const TensorSpec& a, const TensorSpec& b) {
  if (a.shape != b.shape || a.lanes != b.lanes) return false;
  if (a.layout == b.layout || a.shape.size() != 3) return true;
  if (a.layout == Layout::interleaved || b.layout == Layout::interleaved) return false;
  return a.shape[0] == 1 || a.shape[1] * a.shape[2] == 1;
}

int interleaved_lanes(int samples) {
  const int widest = simd_lanes();
  return widest == 16 && samples <= 8 ? 8 : widest;
}

void relayout(const TensorSpec& from, const float* source, const TensorSpec& to, float* target, int samples) {
  LWSVM_CHECK(from.shape == to.shape);
  const std::int64_t size = from.size();
  if (same_order(from, to)) {
    std::memcpy(target, source, sizeof(float) * static_cast<std::size_t>(from.floats(samples)));
    return;
  }
  if (to.layout == Layout::interleaved) {
    LWSVM_CHECK(from.layout != Layout::interleaved);
    return interleave(from, source, to, target, samples);
  }
  if (from.layout == Layout::interleaved) return separate(from, source, to, target, samples);
  const std::int64_t channels = from.shape[0];
  const std::int64_t pixels = from.shape[1] * from.shape[2];
  const bool to_last = to.layout == Layout::channels_last;
  for (int i = 0; i < samples; ++i)
    transpose(source + i * size, target + i * size, to_last ? channels : pixels, to_last ? pixels : channels);
}

}  // namespace lwsvm
