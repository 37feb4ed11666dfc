// JPEG by libjpeg-turbo, with its defaults, which are Pillow's: the accurate inverse DCT, smooth chroma.
#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which needs it and does not say so
#include <cstring>

#include <jpeglib.h>

#include <jerror.h>

#include "base/error.h"
#include "data/photo_decoders.h"

namespace lwsvm {
namespace {

constexpr long kJpegMemory = 1L << 30;  // of libjpeg's own: the coefficients of a progressive one

struct JpegProblems {
  jpeg_error_mgr manager{};  // first, so that libjpeg's pointer to it is ours too
  std::jmp_buf leave{};
  char text[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void on_jpeg_error(j_common_ptr info) {
  auto* problems = reinterpret_cast<JpegProblems*>(info->err);
  info->err->format_message(info, problems->text);
  std::longjmp(problems->leave, 1);
}

// Of warnings those count which say that pixels are missing or wrong; Pillow, too, refuses a file that ends
// early.
void on_jpeg_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_ARITH_BAD_CODE:
      on_jpeg_error(info);
    default:
      return;
  }
}

int jpeg_orientation(const jpeg_decompress_struct& info) {
  for (const jpeg_marker_struct* marker = info.marker_list; marker; marker = marker->next)
    if (marker->marker == JPEG_APP0 + 1 && marker->data_length > 6 &&
        std::memcmp(marker->data, "Exif\0\0", 6) == 0)
      return exif_orientation({marker->data, marker->data_length});
  return 1;
}

// Ink that is stored inverted, as Adobe began it and everybody follows: 255 is none.
void inverted_ink_to_rgb(const std::uint8_t* ink, int count, std::uint8_t* rgb) {
  for (int i = 0; i < count; ++i) {
    const int light = ink[4 * i + 3];
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - ink[4 * i + c]) * light + 128;
      rgb[3 * i + c] = static_cast<std::uint8_t>(light - (((product >> 8) + product) >> 8));
    }
  }
}

struct JpegDecoder {
  jpeg_decompress_struct info{};
  JpegProblems problems;
  std::vector<std::uint8_t> ink;

  JpegDecoder() {
    info.err = jpeg_std_error(&problems.manager);
    problems.manager.error_exit = on_jpeg_error;
    problems.manager.emit_message = on_jpeg_message;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // The steps between which memory is allocated by us. Each returns false where libjpeg gave up; nothing with
  // a destructor lives in them when it jumps.
  bool read_header(std::span<const std::uint8_t> bytes) {
    if (setjmp(problems.leave)) return false;
    jpeg_create_decompress(&info);
    info.mem->max_memory_to_use = kJpegMemory;
    jpeg_save_markers(&info, JPEG_APP0 + 1, 0xFFFF);
    jpeg_mem_src(&info, bytes.data(), bytes.size());
    jpeg_read_header(&info, TRUE);
    if (info.jpeg_color_space == JCS_GRAYSCALE)
      info.out_color_space = JCS_GRAYSCALE;
    else if (info.num_components == 4)
      info.out_color_space = JCS_CMYK;
    else
      info.out_color_space = JCS_RGB;
    return true;
  }

  bool start(int reduction) {
    if (setjmp(problems.leave)) return false;
    info.scale_num = 1;
    info.scale_denom = static_cast<unsigned>(reduction);
    jpeg_calc_output_dimensions(&info);
    return true;
  }

  bool read_pixels(Photo& photo) {
    if (setjmp(problems.leave)) return false;
    jpeg_start_decompress(&info);
    const auto stride = static_cast<std::size_t>(photo.width) * static_cast<std::size_t>(photo.channels);
    while (info.output_scanline < info.output_height) {
      std::uint8_t* target = photo.pixels.data() + info.output_scanline * stride;
      JSAMPROW row = ink.empty() ? target : ink.data();
      jpeg_read_scanlines(&info, &row, 1);
      if (!ink.empty()) inverted_ink_to_rgb(ink.data(), photo.width, target);
    }
    return true;
  }
};

}  // namespace

void decode_jpeg(const std::string& name, std::span<const std::uint8_t> bytes, const PhotoGeometry* wanted,
                 const DecodeLimits& limits, DecodedPhoto& out) {
  JpegDecoder decoder;
  jpeg_decompress_struct& info = decoder.info;
  const auto damaged = [&] { fail(kPhotoPlace, "{}: a damaged JPEG: {}", name, decoder.problems.text); };
  if (!decoder.read_header(bytes)) damaged();
  check_photo_size(name, info.image_width, info.image_height, bytes.size(), limits);
  out.full_width = static_cast<int>(info.image_width);
  out.full_height = static_cast<int>(info.image_height);
  out.orientation = jpeg_orientation(info);
  if (wanted) out.reduction = jpeg_reduction(out.full_width, out.full_height, out.orientation, *wanted);
  if (!decoder.start(out.reduction)) damaged();
  Photo& photo = out.photo;
  photo.width = static_cast<int>(info.output_width);
  photo.height = static_cast<int>(info.output_height);
  photo.channels = info.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  const auto size =
      std::uint64_t{info.output_width} * info.output_height * static_cast<std::uint64_t>(photo.channels);
  const std::uint64_t coefficients =
      jpeg_has_multiple_scans(&info) ? std::uint64_t{info.image_width} * info.image_height * 6 : 0;
  take_budget(2 * size + coefficients, limits, out);
  photo.pixels.resize(size);
  if (info.out_color_space == JCS_CMYK) decoder.ink.resize(std::size_t{4} * info.output_width);
  if (!decoder.read_pixels(photo)) damaged();
}

}  // namespace lwsvm
