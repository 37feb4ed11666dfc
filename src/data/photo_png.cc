// PNG by libpng: palettes and few bits widened, 16 bits cut to their upper 8, alpha dropped, gamma left
// alone.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "base/error.h"
#include "data/photo_decoders.h"

namespace lwsvm {
namespace {

struct PngDecoder {
  png_structp png = nullptr;
  png_infop info = nullptr, end = nullptr;
  std::span<const std::uint8_t> rest;
  char text[200] = "out of memory";
  std::vector<png_bytep> rows;

  PngDecoder() = default;
  ~PngDecoder() { png_destroy_read_struct(&png, &info, &end); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::strncpy(self->text, message, sizeof self->text - 1);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_read(png_structp png, png_bytep out, std::size_t count) {
    auto* self = static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (count > self->rest.size()) png_error(png, "the file ends early");
    std::copy_n(self->rest.data(), count, out);
    self->rest = self->rest.subspan(count);
  }

  // As for JPEG: false where libpng gave up, and nothing with a destructor lives in these.
  bool read_header(std::span<const std::uint8_t> bytes) {
    rest = bytes;
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (!png) return false;
    if (setjmp(png_jmpbuf(png))) return false;
    info = png_create_info_struct(png);
    end = png_create_info_struct(png);
    if (!info || !end) return false;
    png_set_read_fn(png, this, on_read);
    png_read_info(png, info);
    png_set_expand_gray_1_2_4_to_8(png);
    if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    return true;
  }

  bool read_pixels() {
    if (setjmp(png_jmpbuf(png))) return false;
    png_read_image(png, rows.data());
    png_read_end(png, end);
    return true;
  }

  int orientation() {
    for (const png_infop from : {info, end}) {
      png_uint_32 size = 0;
      png_bytep exif = nullptr;
      if (png_get_eXIf_1(png, from, &size, &exif)) return exif_orientation({exif, size});
    }
    return 1;
  }
};

}  // namespace

void decode_png(const std::string& name, std::span<const std::uint8_t> bytes, const DecodeLimits& limits,
                DecodedPhoto& out) {
  PngDecoder decoder;
  const auto damaged = [&] { fail(kPhotoPlace, "{}: a damaged PNG: {}", name, decoder.text); };
  if (!decoder.read_header(bytes)) damaged();
  const png_uint_32 width = png_get_image_width(decoder.png, decoder.info);
  const png_uint_32 height = png_get_image_height(decoder.png, decoder.info);
  check_photo_size(name, width, height, bytes.size(), limits);
  Photo& photo = out.photo;
  photo.channels = png_get_channels(decoder.png, decoder.info);
  const std::size_t stride = png_get_rowbytes(decoder.png, decoder.info);
  LWSVM_CHECK((photo.channels == 1 || photo.channels == 3) &&
              stride == std::size_t{width} * static_cast<std::size_t>(photo.channels));
  take_budget(2 * stride * height, limits, out);
  photo.width = out.full_width = static_cast<int>(width);
  photo.height = out.full_height = static_cast<int>(height);
  photo.pixels.resize(stride * height);
  for (png_uint_32 y = 0; y < height; ++y) decoder.rows.push_back(photo.pixels.data() + y * stride);
  if (!decoder.read_pixels()) damaged();
  out.orientation = decoder.orientation();
}

}  // namespace lwsvm
