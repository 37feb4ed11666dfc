// Antialiased bilinear resizing, to the bits of Pillow's.
//
//   out(x) = sum_i w_i in(i) / sum_i w_i,   w_i = max(0, 1 - |i + 1/2 - c| / f),   c = x0 + (x + 1/2) s,  f =
//   max(1, s)
//
// with s = (x1 - x0) / size: a triangle as wide as two output pixels (two input pixels when enlarging).
// Weights are rounded to 22 bits after the point; first rows, then columns, rounded to bytes after each.
#pragma once

#include <cstdint>

#include "data/photo.h"

namespace lwsvm {

// What of the source is taken, in its pixels; edges may lie within a pixel.
struct SourceBox {
  double left = 0, top = 0, right = 0, bottom = 0;
};

// What of the resized image is wanted.
struct CropBox {
  int left = 0, top = 0, width = 0, height = 0;
};

// The crop of the resized image, one plane after the other.
void resize_photo(const Photo& photo, const SourceBox& source, int width, int height, const CropBox& crop,
                  std::uint8_t* planes);

}  // namespace lwsvm
