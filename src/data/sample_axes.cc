#include "data/sample_axes.h"

#include <algorithm>

#include "base/error.h"

namespace lwsvm {
namespace {

bool counts_channels(std::uint64_t n) {
  return n == 1 || n == 3 || n == 4;
}

bool is_channels_last(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (counts_channels(a) != counts_channels(c)) return counts_channels(c);
  return a == b && b != c;
}

}  // namespace

SampleAxes guess_axes(const char* place, const std::string& source, std::span<const std::uint64_t> dims) {
  if (dims.size() < 2 || dims.size() > 4) {
    fail(place,
         "{}: the images have {} axes; expected N x features, N x H x W, N x C x H x W or N x H x W x C",
         source, dims.size());
  }
  if (dims[0] == 0) fail(place, "{}: the set is empty (0 samples)", source);
  constexpr std::uint64_t kLargestSample = std::uint64_t{1} << 28;
  std::uint64_t size = 1;
  for (const std::uint64_t dim : dims.subspan(1)) {
    if (dim == 0) fail(place, "{}: the samples are empty (an axis has no entries)", source);
    if (dim > kLargestSample / size)
      fail(place, "{}: a sample of more than 2^28 values is not an image", source);
    size *= dim;
  }
  const auto axis = [&](std::size_t i) { return static_cast<int>(dims[i]); };
  switch (dims.size()) {
    case 2:
      return {{axis(1), 1, 1}, false};
    case 3:
      return {{1, axis(1), axis(2)}, false};
    default:
      if (is_channels_last(dims[1], dims[2], dims[3])) return {{axis(3), axis(1), axis(2)}, true};
      return {{axis(1), axis(2), axis(3)}, false};
  }
}

}  // namespace lwsvm
