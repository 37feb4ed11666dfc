#include "data/photo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "data/photo_decoders.h"
#include "data/photo_resize.h"

namespace lwsvm {
namespace {

constexpr std::uint64_t kMaxPhotoFile = std::uint64_t{1} << 30;
constexpr int kMaxSide = 16384;
constexpr int kMaxResized = 1 << 30;  // of the long side, before the centre is cut out
constexpr std::uint64_t kDrawingStream = 301;
constexpr int kUsualCrop = 224, kUsualShortSide = 256;

constexpr bool swaps_sides(int orientation) {
  return orientation >= 5;
}

// Python's round(): half to even.
int half_to_even(double value) {
  return static_cast<int>(std::nearbyint(value));
}

// Orientation o: where row 0 and column 0 of the stored pixels belong. Turned upright, pixel (y, x) is the
// stored (y', x') below.
Photo upright(Photo stored, int orientation) {
  if (orientation == 1) return stored;
  Photo photo{stored.width, stored.height, stored.channels, {}};
  if (swaps_sides(orientation)) std::swap(photo.width, photo.height);
  photo.pixels.resize(stored.pixels.size());
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::ptrdiff_t pixel = stored.channels, row = pixel * stored.width;
  // One step to the right, and one down, in the stored pixels.
  const std::ptrdiff_t along_x = flip_x ? -pixel : pixel, along_y = flip_y ? -row : row;
  const std::uint8_t* corner =
      stored.pixels.data() + (flip_x ? row - pixel : 0) + (flip_y ? row * (stored.height - 1) : 0);
  const std::ptrdiff_t right = swaps_sides(orientation) ? along_y : along_x;
  const std::ptrdiff_t down = swaps_sides(orientation) ? along_x : along_y;
  constexpr int kTile = 32;  // of rows, so that a turned photo is read from lines that are still cached
  for (int y0 = 0; y0 < photo.height; y0 += kTile)
    for (int x = 0; x < photo.width; ++x)
      for (int y = y0; y < std::min(y0 + kTile, photo.height); ++y)
        std::copy_n(corner + y * down + x * right, pixel,
                    photo.pixels.data() + (static_cast<std::ptrdiff_t>(y) * photo.width + x) * pixel);
  return photo;
}

// Where the photo as it was before any reduction lies in the reduced one, turned upright: its last column and
// row may stick out.
SourceBox true_box(const DecodedPhoto& decoded, int orientation) {
  const double width = static_cast<double>(decoded.full_width) / decoded.reduction;
  const double height = static_cast<double>(decoded.full_height) / decoded.reduction;
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const double left = flip_x ? decoded.photo.width - width : 0;
  const double top = flip_y ? decoded.photo.height - height : 0;
  SourceBox box{left, top, left + width, top + height};
  if (swaps_sides(orientation)) {
    std::swap(box.left, box.top);
    std::swap(box.right, box.bottom);
  }
  return box;
}

// Luma as Pillow's convert("L") weighs it: ITU-R 601-2, 16 bits after the point.
void to_grey(Photo& photo) {
  const std::size_t count = photo.pixels.size() / 3;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* rgb = photo.pixels.data() + 3 * i;
    photo.pixels[i] =
        static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
  }
  photo.pixels.resize(count);
  photo.channels = 1;
}

// Decodes; `wanted` null: in full size. What was taken from the budget is given back at the end.
class DecodedForAWhile {
 public:
  DecodedForAWhile(const std::string& name, std::span<const std::uint8_t> bytes, const PhotoGeometry* wanted,
                   const DecodeLimits& limits)
      : limits_(limits) {
    try {
      switch (photo_format(bytes)) {
        case PhotoFormat::jpeg:
          decode_jpeg(name, bytes, wanted, limits, decoded);
          break;
        case PhotoFormat::png:
          decode_png(name, bytes, limits, decoded);
          break;
        case PhotoFormat::webp:
          decode_webp(name, bytes, limits, decoded);
          break;
        case PhotoFormat::other: {
          const std::string kind = other_format_name(bytes);
          fail(kPhotoPlace, "{}: {}, not a JPEG, PNG or WebP", name,
               bytes.empty()  ? "an empty file"
               : kind.empty() ? "something else"
                              : kind);
        }
      }
    } catch (...) {
      give_back();
      throw;
    }
  }
  ~DecodedForAWhile() { give_back(); }
  DecodedForAWhile(const DecodedForAWhile&) = delete;
  DecodedForAWhile& operator=(const DecodedForAWhile&) = delete;

  DecodedPhoto decoded;

 private:
  void give_back() {
    if (limits_.budget) limits_.budget->give(std::exchange(decoded.budget, 0));
  }
  const DecodeLimits& limits_;
};

bool begins_with(std::span<const std::uint8_t> bytes, std::string_view beginning, std::size_t at = 0) {
  return bytes.size() >= at + beginning.size() &&
         std::memcmp(bytes.data() + at, beginning.data(), beginning.size()) == 0;
}

}  // namespace

void MemoryBudget::take(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return taken_ == 0 || taken_ + bytes <= bytes_; });
  taken_ += bytes;
}

void MemoryBudget::give(std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  taken_ -= bytes;
  freed_.notify_all();
}

void take_budget(std::uint64_t bytes, const DecodeLimits& limits, DecodedPhoto& out) {
  if (!limits.budget) return;
  limits.budget->take(bytes);
  out.budget = bytes;
}

// A box of the photo, inside it wherever one of a few tries is.
SourceBox drawn_part(const SourceBox& whole, const PhotoGeometry& geometry, Random& random) {
  constexpr double min_area = 0.25, max_ratio = 4.0 / 3;
  constexpr int tries = 10;
  const double width = whole.right - whole.left, height = whole.bottom - whole.top;
  for (int i = 0; i < tries; ++i) {
    const double area = random.uniform(min_area, 1) * width * height;
    const double ratio = static_cast<double>(geometry.width) / geometry.height *
                         std::exp(random.uniform(-1, 1) * std::log(max_ratio));
    const double w = std::sqrt(area * ratio), h = std::sqrt(area / ratio);
    const double left = random.uniform(), top = random.uniform();
    if (w > width || h > height) continue;
    const double x = whole.left + left * (width - w), y = whole.top + top * (height - h);
    return {x, y, x + w, y + h};
  }
  const double side =
      std::min(width / geometry.width, height / geometry.height);  // the largest in the middle
  const double w = side * geometry.width, h = side * geometry.height;
  const double x = whole.left + (width - w) / 2, y = whole.top + (height - h) / 2;
  return {x, y, x + w, y + h};
}

void check_photo_size(const std::string& name, std::int64_t width, std::int64_t height, std::size_t bytes,
                      const DecodeLimits& limits) {
  // Deflate and an empty JPEG's blocks stay below this.
  constexpr std::int64_t kPixelsPerByte = 16384;
  if (width < 1 || height < 1) fail(kPhotoPlace, "{}: {} x {} pixels; damaged", name, width, height);
  if (width * height > limits.max_pixels)
    fail(kPhotoPlace, "{}: {} x {} pixels are more than the {} that lwsvm takes; make it smaller", name,
         width, height, format_count(limits.max_pixels));
  if (width * height / kPixelsPerByte > static_cast<std::int64_t>(bytes))
    fail(kPhotoPlace, "{}: {} x {} pixels in {} bytes; damaged", name, width, height, bytes);
}

PhotoSize resized_size(int width, int height, const PhotoGeometry& geometry) {
  if (geometry.short_side == 0) return {geometry.width, geometry.height};
  const std::int64_t side = geometry.short_side;
  const auto longer = [&](std::int64_t l, std::int64_t s) {
    return static_cast<int>(std::min<std::int64_t>(side * l / s, kMaxResized));
  };
  return width <= height ? PhotoSize{geometry.short_side, longer(height, width)}
                         : PhotoSize{longer(width, height), geometry.short_side};
}

int jpeg_reduction(int width, int height, int orientation, const PhotoGeometry& geometry) {
  if (swaps_sides(orientation)) std::swap(width, height);
  const PhotoSize size = resized_size(width, height, geometry);
  const double spare =
      std::min(static_cast<double>(width) / size.width, static_cast<double>(height) / size.height);
  const double reserve = geometry.drawing == 0 ? kJpegReserve : 2 * kJpegReserve;  // a part is enlarged
  int reduction = 1;
  while (reduction < 8 && spare >= 2 * reduction * reserve) reduction *= 2;
  return reduction;
}

PhotoFormat photo_format(std::span<const std::uint8_t> bytes) {
  if (begins_with(bytes, "\xFF\xD8\xFF")) return PhotoFormat::jpeg;
  if (begins_with(bytes, "\x89PNG\r\n\x1A\n")) return PhotoFormat::png;
  if (begins_with(bytes, "RIFF") && begins_with(bytes, "WEBP", 8)) return PhotoFormat::webp;
  return PhotoFormat::other;
}

std::string other_format_name(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return "empty";
  using namespace std::string_view_literals;
  for (const auto& [beginning, name] : {std::pair{"GIF8"sv, "GIF"},
                                        {"II*\0"sv, "TIFF"},
                                        {"MM\0*"sv, "TIFF"},
                                        {"%PDF"sv, "PDF"},
                                        {"PK\3\4"sv, "ZIP"},
                                        {"8BPS"sv, "PSD"},
                                        {"\xFF\x0A"sv, "JPEG XL"}})
    if (begins_with(bytes, beginning)) return name;
  if (begins_with(bytes, "BM") && begins_with(bytes, "\0\0\0\0"sv, 6)) return "BMP";
  if (begins_with(bytes, "ftypavif", 4)) return "AVIF";
  if (begins_with(bytes, "ftyphei", 4) || begins_with(bytes, "ftypmif1", 4)) return "HEIC";
  if (begins_with(bytes, "ftyp", 4)) return "video";
  const auto head = bytes.first(std::min<std::size_t>(bytes.size(), 64));
  if (std::ranges::all_of(head, [](std::uint8_t c) { return c >= 0x20 || (c >= '\t' && c <= '\r'); }))
    return "text";
  return "";
}

PhotoGeometry photo_geometry(const PhotoSettings& settings, const std::optional<ImageShape>& network) {
  PhotoGeometry geometry;
  geometry.channels = settings.channels != 0 ? settings.channels : network ? network->channels : 3;
  if (geometry.channels != 1 && geometry.channels != 3)
    fail(kPhotoPlace, "the network takes {} channels; photos have 3, or 1 where they are grey",
         geometry.channels);
  for (const int side : {settings.short_side, settings.crop_height, settings.crop_width})
    if (side < 0 || side > kMaxSide)
      fail(kPhotoPlace, "a side of {} pixels; --resize and --crop take 1 to {}", side, kMaxSide);
  if ((settings.crop_height == 0) != (settings.crop_width == 0))
    fail(kPhotoPlace, "a crop has a height and a width; give both");
  if (settings.stretch && settings.short_side > 0)
    fail(kPhotoPlace, "--stretch brings photos to the size of --crop; leave out --resize");
  if (settings.crop_height > 0) {
    geometry.height = settings.crop_height;
    geometry.width = settings.crop_width;
  } else if (network) {
    geometry.height = network->height;
    geometry.width = network->width;
  } else if (settings.short_side > 0) {
    geometry.height = geometry.width =
        std::max(1, half_to_even(settings.short_side * double{kUsualCrop} / kUsualShortSide));
  }
  const int longer = std::max(geometry.height, geometry.width);
  geometry.short_side = settings.stretch ? 0
                        : settings.short_side > 0
                            ? settings.short_side
                            : half_to_even(longer * double{kUsualShortSide} / kUsualCrop);
  if (!settings.stretch && geometry.short_side < longer)
    fail(kPhotoPlace,
         "--resize {} leaves less than the {} x {} pixels that are cut out; give more, or a smaller --crop",
         geometry.short_side, geometry.height, geometry.width);
  return geometry;
}

std::string to_text(const PhotoGeometry& geometry) {
  if (geometry.short_side == 0) return fmt::format("stretch={}x{}", geometry.height, geometry.width);
  return fmt::format("resize={} crop={}x{}", geometry.short_side, geometry.height, geometry.width);
}

std::optional<PhotoGeometry> parse_photo_geometry(const std::string& text) {
  PhotoGeometry geometry;
  geometry.short_side = 0;
  const bool known = std::sscanf(text.c_str(), "stretch=%dx%d", &geometry.height, &geometry.width) == 2 ||
                     std::sscanf(text.c_str(), "resize=%d crop=%dx%d", &geometry.short_side, &geometry.height,
                                 &geometry.width) == 3;
  if (!known || to_text(geometry) != text) return {};
  return geometry;
}

Photo decode_photo(const std::string& name, std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  DecodedForAWhile held(name, bytes, nullptr, limits);
  return upright(std::move(held.decoded.photo), held.decoded.orientation);
}

void photo_sample(const std::string& name, std::span<const std::uint8_t> bytes, const PhotoGeometry& geometry,
                  std::uint8_t* sample, const DecodeLimits& limits) {
  DecodedForAWhile held(name, bytes, &geometry, limits);
  DecodedPhoto& decoded = held.decoded;
  const bool turned = swaps_sides(decoded.orientation);
  const PhotoSize size = resized_size(turned ? decoded.full_height : decoded.full_width,
                                      turned ? decoded.full_width : decoded.full_height, geometry);
  if (std::max(size.width, size.height) == kMaxResized)
    fail(kPhotoPlace, "{}: {} x {} pixels are no photo", name, decoded.full_width, decoded.full_height);
  SourceBox source = true_box(decoded, decoded.orientation);
  if (geometry.channels == 1 && decoded.photo.channels == 3) to_grey(decoded.photo);
  const Photo photo = upright(std::move(decoded.photo), decoded.orientation);
  const auto plane = static_cast<std::ptrdiff_t>(geometry.width) * geometry.height;
  if (geometry.drawing == 0) {
    const CropBox crop{half_to_even((size.width - geometry.width) / 2.0),
                       half_to_even((size.height - geometry.height) / 2.0), geometry.width, geometry.height};
    resize_photo(photo, source, size.width, size.height, crop, sample);
  } else {
    Random random(crc32_z(0, bytes.data(), bytes.size()), kDrawingStream,
                  static_cast<std::uint64_t>(geometry.drawing));
    source = drawn_part(source, geometry, random);
    const CropBox all{0, 0, geometry.width, geometry.height};
    resize_photo(photo, source, geometry.width, geometry.height, all, sample);
    if (random.below(2) == 1)
      for (std::ptrdiff_t at = 0; at < photo.channels * plane; at += geometry.width)
        std::reverse(sample + at, sample + at + geometry.width);
  }
  if (geometry.channels == 3 && photo.channels == 1)
    for (int c = 1; c < 3; ++c) std::copy_n(sample, plane, sample + c * plane);
}

std::vector<std::uint8_t> read_photo_file(const std::filesystem::path& file) {
  // O_NONBLOCK: a pipe must not keep us waiting for its other end.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail(kPhotoPlace, "{}: cannot read: {}", file.string(), std::strerror(errno));
  struct stat status {};
  std::vector<std::uint8_t> bytes;
  std::string problem;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    problem = "not a regular file";
  } else if (static_cast<std::uint64_t>(status.st_size) > kMaxPhotoFile) {
    problem = fmt::format("{}, too large for a photo", format_bytes(static_cast<double>(status.st_size)));
  } else {
    bytes.resize(static_cast<std::size_t>(status.st_size));
    std::size_t at = 0;
    while (at < bytes.size() && problem.empty()) {
      const ssize_t count = ::read(descriptor, bytes.data() + at, bytes.size() - at);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0)
        problem = count < 0 ? fmt::format("cannot read: {}", std::strerror(errno))
                            : "it became shorter while it was read";
      else
        at += static_cast<std::size_t>(count);
    }
  }
  ::close(descriptor);
  if (!problem.empty()) fail(kPhotoPlace, "{}: {}", file.string(), problem);
  return bytes;
}

std::vector<std::uint8_t> photo_sample(const std::filesystem::path& file, const PhotoGeometry& geometry,
                                       const DecodeLimits& limits) {
  std::vector<std::uint8_t> sample(static_cast<std::size_t>(geometry.shape().size()));
  photo_sample(file.string(), read_photo_file(file), geometry, sample.data(), limits);
  return sample;
}

}  // namespace lwsvm
