#include "data/cifar_png.h"

#include <png.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "data/input_file.h"

namespace lwsvm {
namespace {

constexpr const char* kPngPlace = "png";

struct PngImage {
  png_image image;
  PngImage() {
    std::memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
  }
  ~PngImage() { png_image_free(&image); }
};

std::vector<std::uint8_t> read_rgb(const std::filesystem::path& path, std::size_t width, std::size_t height) {
  regular_file_size(kPngPlace, path);
  PngImage png;
  if (!png_image_begin_read_from_file(&png.image, path.c_str())) {
    fail(kPngPlace, "{}: {}; get it again", path.string(), png.image.message);
  }
  if (png.image.width != width || png.image.height != height) {
    fail(kPngPlace, "{}: {} x {} pixels, expected {} x {}; this is not a batch of images", path.string(),
         png.image.width, png.image.height, width, height);
  }
  if (png.image.format != PNG_FORMAT_RGB) {  // anything else would be converted, and no longer exact
    fail(kPngPlace, "{}: not 8-bit RGB; this is not a batch of images", path.string());
  }
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(png.image));
  if (!png_image_finish_read(&png.image, nullptr, pixels.data(), 0, nullptr)) {
    fail(kPngPlace, "{}: {}; get it again", path.string(), png.image.message);
  }
  return pixels;
}

}  // namespace

std::vector<std::uint8_t> read_json_labels(const std::filesystem::path& path, std::size_t count,
                                           int classes) {
  if (regular_file_size(kPngPlace, path) > 16 * count + 1024) {
    fail(kPngPlace, "{}: too large for {} labels", path.string(), count);
  }
  const auto json = nlohmann::json::parse(read_file(path), nullptr, false);
  if (!json.is_array() || json.size() != count) {
    fail(kPngPlace, "{}: expected a list of {} labels; get it again", path.string(), count);
  }
  std::vector<std::uint8_t> labels;
  for (const auto& item : json) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() >= static_cast<std::uint64_t>(classes)) {
      fail(kPngPlace, "{}: label {} of image {} is out of range; labels are 0..{}", path.string(),
           item.dump(), labels.size(), classes - 1);
    }
    labels.push_back(item.get<std::uint8_t>());
  }
  return labels;
}

void convert_cifar_png(const std::filesystem::path& png, std::span<const std::uint8_t> labels,
                       const std::filesystem::path& bin, int side) {
  const auto plane = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  const std::vector<std::uint8_t> pixels = read_rgb(png, plane, labels.size());
  std::vector<std::uint8_t> record(1 + 3 * plane);
  AtomicFile out(bin);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::uint8_t* row = pixels.data() + i * 3 * plane;
    record[0] = labels[i];
    for (std::size_t p = 0; p < plane; ++p) {
      for (std::size_t c = 0; c < 3; ++c) record[1 + c * plane + p] = row[3 * p + c];
    }
    out.write(record.data(), record.size());
  }
  out.commit();
}

}  // namespace lwsvm
