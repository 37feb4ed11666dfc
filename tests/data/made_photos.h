// Small photos, written by the libraries themselves.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

#include <functional>
#include <vector>

namespace lwsvm::test {

// RGB, row by row.
inline std::string rgb_pixels(int width, int height, int seed) {
  std::string pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) pixels += static_cast<char>((x * 5 + y * 3 * (c + 1) + seed * 40) % 256);
  return pixels;
}

inline std::string jpeg_bytes(int width, int height, int seed = 0, bool progressive = false,
                              const std::string& exif = "") {
  std::string pixels = rgb_pixels(width, height, seed);
  jpeg_compress_struct info{};
  jpeg_error_mgr problems{};
  info.err = jpeg_std_error(&problems);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<unsigned>(width);
  info.image_height = static_cast<unsigned>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  if (!exif.empty())
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif.data()),
                      static_cast<unsigned>(exif.size()));
  while (info.next_scanline < info.image_height) {
    auto* row = reinterpret_cast<JSAMPROW>(pixels.data() + std::size_t{info.next_scanline} *
                                                               static_cast<std::size_t>(width) * 3);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string result(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return result;
}

inline std::string png_of(int width, int height, const std::string& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr);
  std::string bytes(size, '\0');
  png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr);
  bytes.resize(size);
  return bytes;
}

inline std::string png_bytes(int width, int height, int seed = 0) {
  return png_of(width, height, rgb_pixels(width, height, seed));
}

inline std::string webp_bytes(int width, int height, int seed = 0, bool lossless = true) {
  const std::string pixels = rgb_pixels(width, height, seed);
  const auto* from = reinterpret_cast<const std::uint8_t*>(pixels.data());
  std::uint8_t* bytes = nullptr;
  const std::size_t size = lossless ? WebPEncodeLosslessRGB(from, width, height, 3 * width, &bytes)
                                    : WebPEncodeRGB(from, width, height, 3 * width, 80, &bytes);
  std::string result(reinterpret_cast<char*>(bytes), size);
  WebPFree(bytes);
  return result;
}

// Orientation alone, as EXIF has it in a JPEG.
inline std::string exif_bytes(int orientation) {
  std::string bytes("Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0", 24);
  bytes += static_cast<char>(orientation);
  return bytes + std::string(7, '\0');
}

}  // namespace lwsvm::test
