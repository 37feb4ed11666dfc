// Which axis of an array of samples means what, when the file does not say.
//
//   N x F          features:  F x 1 x 1 (each feature is a channel)
//   N x H x W      grey images
//   N x C x H x W  or  N x H x W x C: the axis with 1, 3 or 4 entries holds the channels; if both or neither
//   has, the
//                  two equal axes are height and width; if that does not tell either, NCHW
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace lwsvm {

struct SampleAxes {
  ImageShape shape;
  bool channels_last = false;
};

// dims includes N. Throws Error naming the source for other ranks, empty axes and absurdly large samples.
SampleAxes guess_axes(const char* place, const std::string& source, std::span<const std::uint64_t> dims);

// Brings pixels (whole samples) from HWC to CHW.
template <typename T>
void channels_first(const ImageShape& shape, std::vector<T>& pixels) {
  const auto size = static_cast<std::size_t>(shape.size());
  const auto channels = static_cast<std::size_t>(shape.channels);
  const std::size_t plane = size / channels;
  std::vector<T> sample(size);
  for (std::size_t start = 0; start < pixels.size(); start += size) {
    T* const image = pixels.data() + start;
    for (std::size_t p = 0; p < plane; ++p) {
      for (std::size_t c = 0; c < channels; ++c) sample[c * plane + p] = image[p * channels + c];
    }
    std::copy(sample.begin(), sample.end(), image);
  }
}

}  // namespace lwsvm
