// Small images as data: URLs, so that a page carries them itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lwsvm {

// A PNG of 8-bit pixels, row by row: one value per pixel (grey) or three (RGB).
std::string image_url(std::span<const std::uint8_t> pixels, int width, int height, int channels);

std::string to_base64(std::span<const std::uint8_t> bytes);

}  // namespace lwsvm
