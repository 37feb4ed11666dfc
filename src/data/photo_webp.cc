// WebP by libwebp: lossy and lossless, the first and only frame; alpha is dropped.
#include <webp/decode.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "data/photo_decoders.h"

namespace lwsvm {
namespace {

const char* webp_problem(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "out of memory";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the file ends early";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "of a kind that libwebp does not know";
    default:
      return "its data make no sense";
  }
}

std::uint32_t little_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
         std::uint32_t{bytes[3]} << 24;
}

// RIFF, size, WEBP, then chunks: name, size, that many bytes, and one more where it is odd.
int webp_orientation(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kRiffHead = 12, kChunkHead = 8;
  for (std::size_t at = kRiffHead; at + kChunkHead <= bytes.size();) {
    const std::size_t size = little_endian(bytes.data() + at + 4);
    const std::size_t begin = at + kChunkHead;
    if (size > bytes.size() - begin) return 1;
    if (std::memcmp(bytes.data() + at, "EXIF", 4) == 0) return exif_orientation(bytes.subspan(begin, size));
    at = begin + size + size % 2;
  }
  return 1;
}

}  // namespace

void decode_webp(const std::string& name, std::span<const std::uint8_t> bytes, const DecodeLimits& limits,
                 DecodedPhoto& out) {
  WebPBitstreamFeatures features;
  if (const VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &features);
      status != VP8_STATUS_OK)
    fail(kPhotoPlace, "{}: a damaged WebP: {}", name, webp_problem(status));
  if (features.has_animation)
    fail(kPhotoPlace, "{}: an animated WebP is no photo; take it out of the folder", name);
  check_photo_size(name, features.width, features.height, bytes.size(), limits);
  const auto stride = std::size_t{3} * static_cast<std::size_t>(features.width);
  const std::size_t size = stride * static_cast<std::size_t>(features.height);
  take_budget(3 * size, limits, out);  // lossless ones are decoded to four bytes per pixel first
  Photo& photo = out.photo;
  photo.width = out.full_width = features.width;
  photo.height = out.full_height = features.height;
  photo.channels = 3;
  photo.pixels.resize(size);
  WebPDecoderConfig config;
  LWSVM_CHECK(WebPInitDecoderConfig(&config));
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = photo.pixels.data();
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = size;
  if (const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config); status != VP8_STATUS_OK)
    fail(kPhotoPlace, "{}: a damaged WebP: {}", name, webp_problem(status));
  out.orientation = webp_orientation(bytes);
}

}  // namespace lwsvm
