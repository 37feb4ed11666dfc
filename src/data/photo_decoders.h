// The decoders of the single formats, a file each, and what they share.
#pragma once

#include "data/photo.h"

namespace lwsvm {

inline constexpr const char* kPhotoPlace = "photos";

struct DecodedPhoto {
  Photo photo;        // as stored, not yet upright; perhaps reduced
  int reduction = 1;  // by which it was reduced: 1, 2, 4 or 8
  int full_width = 0, full_height = 0;
  int orientation = 1;       // EXIF: 1 to 8
  std::uint64_t budget = 0;  // bytes that were taken from the limits' budget: to be given back
};

// Throw Error naming the photo. What they take from the budget is noted in `out` first, so that it is given
// back whatever happens.
void decode_jpeg(const std::string& name, std::span<const std::uint8_t> bytes, const PhotoGeometry* wanted,
                 const DecodeLimits& limits, DecodedPhoto& out);
void decode_png(const std::string& name, std::span<const std::uint8_t> bytes, const DecodeLimits& limits,
                DecodedPhoto& out);
void decode_webp(const std::string& name, std::span<const std::uint8_t> bytes, const DecodeLimits& limits,
                 DecodedPhoto& out);

// Throws Error if the size is beyond the limits, or beyond what so few bytes can hold.
void check_photo_size(const std::string& name, std::int64_t width, std::int64_t height, std::size_t bytes,
                      const DecodeLimits& limits);
void take_budget(std::uint64_t bytes, const DecodeLimits& limits, DecodedPhoto& out);

// Orientation 1 to 8 of an EXIF block, with or without "Exif\0\0" before it; 1 where it says nothing.
int exif_orientation(std::span<const std::uint8_t> exif);

// The size to which a photo is resized before its centre is cut out.
struct PhotoSize {
  int width = 0, height = 0;
};
PhotoSize resized_size(int width, int height, const PhotoGeometry& geometry);

// After a reduced decoding there must be so many pixels left for each one wanted, side by side. What the DCT
// cuts off is then well beyond what the triangle lets through; docs/photos.md has what is left of it.
inline constexpr double kJpegReserve = 3;
// 1, 2, 4 or 8: how far a JPEG of this size (as stored) may be reduced while it is decoded.
int jpeg_reduction(int width, int height, int orientation, const PhotoGeometry& geometry);

}  // namespace lwsvm
