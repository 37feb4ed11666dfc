#include "data/feed.h"

namespace lwsvm {
namespace {

void to_channels_last(const ImageShape& shape, const float* in, float* out) {
  const std::int64_t pixels = std::int64_t{shape.height} * shape.width;
  for (std::int64_t p = 0; p < pixels; ++p)
    for (std::int64_t c = 0; c < shape.channels; ++c) *out++ = in[c * pixels + p];
}

}  // namespace

void FedSource::read(std::int64_t index, float* target) const {
  const bool reorder = feed_.channels_last && feed_.shape.channels > 1;
  thread_local std::vector<float> image;  // grows once a thread
  if (reorder) image.resize(static_cast<std::size_t>(feed_.shape.size()));
  float* sample = reorder ? image.data() : target;
  source_.read(index, sample);
  if (feed_.normalization) feed_.normalization->apply(feed_.shape, sample);
  if (reorder) to_channels_last(feed_.shape, sample, target);
}

bool suit(Feed& feed, const std::vector<std::int64_t>& input) {
  const std::int64_t channels = feed.shape.channels, height = feed.shape.height, width = feed.shape.width;
  const std::vector<std::int64_t> first{channels, height, width}, last{height, width, channels};
  feed.channels_last = input == last && input != first;
  return input == first || input == last || input == std::vector<std::int64_t>{feed.shape.size()};
}

}  // namespace lwsvm
