#include "data/photo_resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/simd.h"

namespace lwsvm {
namespace {

constexpr int kWeightBits = 22;  // as Pillow: 8 bits of pixel and 2 to spare in 32
constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

// For each output position of a range: where its inputs begin, how many they are, their weights.
struct Taps {
  struct Range {
    int begin = 0, count = 0;
  };
  std::vector<Range> ranges;
  std::vector<std::int32_t> weights;  // `stride` per position
  int stride = 0;

  const std::int32_t* of(int position) const {
    return weights.data() + static_cast<std::ptrdiff_t>(position) * stride;
  }
  int begin() const { return ranges.front().begin; }
  int end() const { return ranges.back().begin + ranges.back().count; }
};

// Towards zero, as Pillow does where it rounds: other roundings would be other bits.
int truncated(double value) {
  return static_cast<int>(value);
}

Taps make_taps(int source_size, double from, double to, int size, int first, int count) {
  const double scale = (to - from) / size;
  const double support = std::max(scale, 1.0);
  Taps taps;
  taps.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
  taps.ranges.resize(static_cast<std::size_t>(count));
  taps.weights.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(taps.stride));
  std::vector<double> raw(static_cast<std::size_t>(taps.stride));
  for (int x = 0; x < count; ++x) {
    const double centre = from + (first + x + 0.5) * scale;
    const int begin = std::max(truncated(centre - support + 0.5), 0);
    const int end = std::min(truncated(centre + support + 0.5), source_size);
    double sum = 0;
    for (int i = begin; i < end; ++i) {
      const double distance = std::abs((i - centre + 0.5) * (1.0 / support));
      raw[static_cast<std::size_t>(i - begin)] = std::max(0.0, 1.0 - distance);
      sum += raw[static_cast<std::size_t>(i - begin)];
    }
    std::int32_t* weights = taps.weights.data() + static_cast<std::ptrdiff_t>(x) * taps.stride;
    for (int i = 0; i < end - begin; ++i)
      weights[i] = truncated(0.5 + raw[static_cast<std::size_t>(i)] / sum * (1 << kWeightBits));
    taps.ranges[static_cast<std::size_t>(x)] = {begin, end - begin};
  }
  return taps;
}

template <int channels>
void resize_row(const std::uint8_t* row, const Taps& taps, std::uint8_t* out) {
  for (std::size_t x = 0; x < taps.ranges.size(); ++x) {
    const auto [begin, count] = taps.ranges[x];
    const std::int32_t* weights = taps.of(static_cast<int>(x));
    const std::uint8_t* from = row + static_cast<std::ptrdiff_t>(begin) * channels;
    std::int32_t sums[channels];
    std::fill_n(sums, channels, kHalf);
    for (int i = 0; i < count; ++i)
      for (int c = 0; c < channels; ++c) sums[c] += weights[i] * from[i * channels + c];
    for (int c = 0; c < channels; ++c) out[x * channels + static_cast<std::size_t>(c)] = to_byte(sums[c]);
  }
}

LWSVM_SIMD void add_weighted_row(const std::uint8_t* __restrict row, std::int32_t weight, std::size_t size,
                                 std::int32_t* __restrict sums) {
  for (std::size_t i = 0; i < size; ++i) sums[i] += weight * row[i];
}

}  // namespace

void resize_photo(const Photo& photo, const SourceBox& source, int width, int height, const CropBox& crop,
                  std::uint8_t* planes) {
  const int channels = photo.channels;
  LWSVM_CHECK(channels == 1 || channels == 3);
  LWSVM_CHECK(crop.left >= 0 && crop.top >= 0 && crop.width > 0 && crop.height > 0 &&
              crop.left + crop.width <= width && crop.top + crop.height <= height);
  const Taps across = make_taps(photo.width, source.left, source.right, width, crop.left, crop.width);
  const Taps down = make_taps(photo.height, source.top, source.bottom, height, crop.top, crop.height);

  const int first_row = down.begin(), rows = down.end() - first_row;
  const std::size_t narrow = static_cast<std::size_t>(crop.width) * static_cast<std::size_t>(channels);
  std::vector<std::uint8_t> middle(static_cast<std::size_t>(rows) * narrow);
  for (int y = 0; y < rows; ++y) {
    const std::uint8_t* row =
        photo.pixels.data() + static_cast<std::ptrdiff_t>(first_row + y) * photo.width * channels;
    std::uint8_t* out = middle.data() + static_cast<std::size_t>(y) * narrow;
    channels == 1 ? resize_row<1>(row, across, out) : resize_row<3>(row, across, out);
  }

  std::vector<std::int32_t> sums(narrow);
  const auto plane = static_cast<std::ptrdiff_t>(crop.width) * crop.height;
  for (int y = 0; y < crop.height; ++y) {
    std::ranges::fill(sums, kHalf);
    const auto [begin, count] = down.ranges[static_cast<std::size_t>(y)];
    for (int i = 0; i < count; ++i)
      add_weighted_row(middle.data() + static_cast<std::size_t>(begin - first_row + i) * narrow,
                       down.of(y)[i], narrow, sums.data());
    for (int c = 0; c < channels; ++c) {
      std::uint8_t* out = planes + c * plane + static_cast<std::ptrdiff_t>(y) * crop.width;
      for (int x = 0; x < crop.width; ++x)
        out[x] = to_byte(sums[static_cast<std::size_t>(x) * static_cast<std::size_t>(channels) +
                              static_cast<std::size_t>(c)]);
    }
  }
}

}  // namespace lwsvm
