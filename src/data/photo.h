// Photos as samples: JPEG, PNG and WebP as Pillow decodes them, then cut as torchvision does it.
//
//   decode     grey or RGB, 8 bits; alpha is dropped, of 16 bits the upper 8 are kept, CMYK through Pillow's
//              formula, all as Image.convert("RGB") does; turned upright as EXIF says
//   resize     the short side to S, the long one to floor(S long / short), by Pillow's antialiased bilinear
//   crop       the centre, rounded half to even as torchvision's CenterCrop does
//
// or, with stretch, resized to the wanted size whatever the ratio of its sides. A JPEG much larger than
// needed is decoded at 1/2, 1/4 or 1/8 of its size (jpeg_reduction).
//
// Instead of all that a part of the photo, drawn at random, as torchvision's RandomResizedCrop does it: a
// quarter of its area to all of it, sides that are up to 4/3 as far apart as those of the crop, resized to
// the crop; half of them mirrored. What is drawn depends on the file's bytes and the number of the drawing
// alone.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lwsvm/data.h"

namespace lwsvm {

// What comes out of a photo.
struct PhotoGeometry {
  int channels = 3;  // 1: grey
  int height = 224, width = 224;
  int short_side = 256;  // 0: stretched to height x width
  int drawing = 0;       // 0: the centre; else the number of the part drawn at random

  ImageShape shape() const { return {channels, height, width}; }
  bool operator==(const PhotoGeometry&) const = default;
};

// The settings, filled in: crop from the network if it is known, else 224 x 224; S = round(256/224 crop), of
// the longer side of the crop. Throws Error where they contradict each other or the network.
PhotoGeometry photo_geometry(const PhotoSettings& settings, const std::optional<ImageShape>& network = {});
// "resize=256 crop=224x224" or "stretch=224x224", as a network's metadata have it, and back; nothing where
// the text is something else. The channels and the drawing are not in it.
std::string to_text(const PhotoGeometry& geometry);
std::optional<PhotoGeometry> parse_photo_geometry(const std::string& text);

enum class PhotoFormat { jpeg, png, webp, other };
PhotoFormat photo_format(std::span<const std::uint8_t> bytes);
// Of a file that is no photo, by its beginning: "GIF", "HEIC", "text", ...; "" if that is not known.
std::string other_format_name(std::span<const std::uint8_t> bytes);

// Pixels row by row, the channels of a pixel side by side.
struct Photo {
  int width = 0, height = 0, channels = 0;  // 1 or 3
  std::vector<std::uint8_t> pixels;
};

// Keeps what all threads decode at once below a bound; a photo that exceeds it alone waits until no other is
// under way.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : bytes_(bytes) {}
  void take(std::uint64_t bytes);
  void give(std::uint64_t bytes);

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  std::uint64_t bytes_, taken_ = 0;
};

struct DecodeLimits {
  std::int64_t max_pixels = 178'956'970;  // where Pillow takes an image for an attack
  MemoryBudget* budget = nullptr;
};

// Upright and in full size. `name` is for messages. Throws Error: damaged, cut off, too large, no photo.
Photo decode_photo(const std::string& name, std::span<const std::uint8_t> bytes,
                   const DecodeLimits& limits = {});

// One sample: channels x height x width.
void photo_sample(const std::string& name, std::span<const std::uint8_t> bytes, const PhotoGeometry& geometry,
                  std::uint8_t* sample, const DecodeLimits& limits = {});
std::vector<std::uint8_t> photo_sample(const std::filesystem::path& file, const PhotoGeometry& geometry,
                                       const DecodeLimits& limits = {});

// The bytes of a file that may be a photo: a regular file, not absurdly large. Throws Error.
std::vector<std::uint8_t> read_photo_file(const std::filesystem::path& file);

}  // namespace lwsvm
