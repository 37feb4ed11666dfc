#include "data/input_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "base/error.h"
#include "base/interrupt.h"

namespace lwsvm {

std::uint64_t regular_file_size(const char* place, const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    fail(place, "{}: there is no such file; check the path", path.string());
  if (!std::filesystem::is_regular_file(status)) fail(place, "{}: this is not a regular file", path.string());
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) fail(place, "{}: cannot read: {}", path.string(), error.message());
  return size;
}

InputFile::InputFile(const char* place, const std::filesystem::path& path)
    : place_(place), path_(path.string()), file_size_(regular_file_size(place, path)) {
  const gzFile file = gzopen(path_.c_str(), "rb");
  if (file == nullptr) fail(place_, "{}: cannot read the file; check its permissions", path_);
  gzbuffer(file, 1u << 18);
  compressed_ = gzdirect(file) == 0;
  file_ = file;
}

InputFile::~InputFile() {
  gzclose_r(static_cast<gzFile>(file_));
}

std::uint64_t InputFile::max_bytes() const {
  return compressed_ ? file_size_ * kDeflateRatio : file_size_;
}

std::size_t InputFile::read(void* out, std::size_t bytes) {
  auto* to = static_cast<std::uint8_t*>(out);
  std::size_t done = 0;
  while (done < bytes) {
    stop_if_interrupted("loading the data");
    const auto chunk = static_cast<unsigned>(std::min<std::size_t>(bytes - done, 1u << 24));
    const int got = gzread(static_cast<gzFile>(file_), to + done, chunk);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  position_ += done;
  int code = Z_OK;
  const char* message = gzerror(static_cast<gzFile>(file_), &code);
  if (code == Z_BUF_ERROR) {
    fail(place_, "{}: the compressed file is cut short after {} unpacked bytes; get it again", path_,
         position_);
  }
  if (code != Z_OK && code != Z_STREAM_END) {
    fail(place_, "{}: cannot be unpacked ({}); get it again", path_, message);
  }
  return done;
}

void InputFile::ends_early(std::uint64_t wanted) const {
  fail(place_, "{}: the file ends after {} of {} bytes; get it again", path_, position_, wanted);
}

void InputFile::read_exactly(void* out, std::size_t bytes) {
  const std::uint64_t wanted = position_ + bytes;
  if (read(out, bytes) != bytes) ends_early(wanted);
}

std::vector<std::uint8_t> InputFile::read_vector(std::uint64_t bytes) {
  const std::uint64_t max = max_bytes();
  if (bytes > max || position_ > max - bytes) {
    if (compressed_) {
      fail(place_, "{}: claims {} bytes more than {} compressed bytes can hold; get it again", path_, bytes,
           file_size_);
    }
    fail(place_, "{}: the file ends after {} of {} bytes; get it again", path_, file_size_,
         bytes > UINT64_MAX - position_ ? UINT64_MAX : position_ + bytes);
  }
  std::vector<std::uint8_t> content;
  content.reserve(bytes);  // address space only; memory is touched as data arrives
  constexpr std::uint64_t kStep = std::uint64_t{1} << 24;
  while (content.size() < bytes) {
    const std::size_t before = content.size();
    const auto step = static_cast<std::size_t>(std::min(kStep, bytes - before));
    content.resize(before + step);
    const std::uint64_t start = position_ - before;
    if (read(content.data() + before, step) != step) ends_early(start + bytes);
  }
  return content;
}

void InputFile::skip(std::uint64_t bytes) {
  std::array<std::uint8_t, 1 << 16> scratch;
  while (bytes > 0) {
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, scratch.size()));
    read_exactly(scratch.data(), step);
    bytes -= step;
  }
}

void InputFile::expect_end() {
  std::uint8_t extra = 0;
  const std::uint64_t expected = position_;
  if (read(&extra, 1) != 0) {
    fail(place_, "{}: the file goes on after the {} bytes that its header announces; get it again", path_,
         expected);
  }
}

}  // namespace lwsvm
