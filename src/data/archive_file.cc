#include "data/archive_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/interrupt.h"
#include "data/input_file.h"

namespace lwsvm {
namespace {

constexpr std::size_t kArchiveBlock = 1 << 17;

std::string complaint_of(archive* handle) {
  const char* text = archive_error_string(handle);
  return text != nullptr ? text : "damaged";
}

}  // namespace

ArchiveFile::ArchiveFile(const char* place, const std::filesystem::path& path, ArchiveFormat format,
                         const char* remedy)
    : place_(place),
      path_(path.string()),
      remedy_(remedy),
      kind_(format == ArchiveFormat::tar ? "tar" : "zip"),
      file_size_(regular_file_size(place, path)) {
  try {
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(place_, "{}: cannot read the file; check its permissions", path_);
    archive_ = archive_read_new();
    LWSVM_CHECK(archive_ != nullptr);
    if (format == ArchiveFormat::tar) {
      archive_read_support_filter_gzip(archive_);
      archive_read_support_format_tar(archive_);
    } else {
      archive_read_support_format_zip_seekable(archive_);
    }
    if (archive_read_open_fd(archive_, descriptor_, kArchiveBlock) != ARCHIVE_OK)
      broken(complaint_of(archive_));
  } catch (...) {
    close();
    throw;
  }
}

ArchiveFile::~ArchiveFile() {
  close();
}

void ArchiveFile::close() {
  if (archive_ != nullptr) archive_read_free(archive_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ArchiveFile::broken(const std::string& why) const {
  fail(place_, "{}: not a whole {} archive ({}); {}", path_, kind_, why, remedy_);
}

bool ArchiveFile::next() {
  stop_if_interrupted("loading the data");
  const int status = archive_read_next_header(archive_, &entry_);
  if (status == ARCHIVE_EOF) return false;
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) broken(complaint_of(archive_));
  doubtful_ = status == ARCHIVE_WARN;
  // No name at all, where it cannot be expressed in this locale: none that we look for.
  const char* name = archive_entry_pathname(entry_);
  name_ = name != nullptr ? name : "";
  block_left_ = 0;
  position_ = 0;
  at_end_ = false;
  return true;
}

bool ArchiveFile::is_plain_file() const {
  return archive_entry_filetype(entry_) == AE_IFREG && archive_entry_hardlink(entry_) == nullptr;
}

bool ArchiveFile::is_encrypted() const {
  return archive_entry_is_encrypted(entry_) != 0;
}

std::uint64_t ArchiveFile::size() const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, archive_entry_size(entry_)));
}

std::string ArchiveFile::format() const {
  const char* name = archive_format_name(archive_);
  return name != nullptr ? name : "";
}

std::size_t ArchiveFile::read(void* out, std::size_t bytes) {
  auto* to = static_cast<std::uint8_t*>(out);
  std::size_t done = 0;
  while (done < bytes && !at_end_) {
    if (block_left_ == 0) {
      stop_if_interrupted("loading the data");
      const void* block = nullptr;
      std::size_t size = 0;
      std::int64_t offset = 0;
      const int status = archive_read_data_block(archive_, &block, &size, &offset);
      if (status == ARCHIVE_EOF) {
        at_end_ = true;
        break;
      }
      if (status != ARCHIVE_OK) broken(complaint_of(archive_));
      // A few bytes can announce a hole of any size: no file that we look for has one.
      if (size > 0 && offset != position_) broken("a member has holes");
      block_ = static_cast<const std::uint8_t*>(block);
      block_left_ = size;
      position_ += static_cast<std::int64_t>(size);
      continue;
    }
    const std::size_t step = std::min(bytes - done, block_left_);
    std::memcpy(to + done, block_, step);
    block_ += step, block_left_ -= step, done += step;
  }
  return done;
}

}  // namespace lwsvm
