// What is done with the bytes of a photo: decoded in full, and to a sample.
#pragma once

#include "base/error.h"
#include "data/photo.h"

namespace lwsvm::fuzz {

// Small ones, so that no input takes long; larger ones are refused by their header.
inline void read_photo(std::string_view text) {
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  DecodeLimits limits;
  limits.max_pixels = 1 << 18;
  const PhotoGeometry geometry{3, 12, 16, 18};
  std::vector<std::uint8_t> sample(static_cast<std::size_t>(geometry.shape().size()));
  photo_sample("photo", bytes, geometry, sample.data(), limits);
  const Photo photo = decode_photo("photo", bytes, limits);
  LWSVM_CHECK(photo.pixels.size() == static_cast<std::size_t>(photo.width) *
                                         static_cast<std::size_t>(photo.height) *
                                         static_cast<std::size_t>(photo.channels));
}

}  // namespace lwsvm::fuzz
