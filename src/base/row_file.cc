#include "base/row_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace lwsvm {

RowFile::RowFile(std::filesystem::path path) : path_(std::move(path)) {
  // O_NONBLOCK: a pipe must not keep us waiting for its other end.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail("file", "{}: cannot read: {}", path_.string(), std::strerror(errno));
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  ::close(descriptor_);
  fail("file", "{}: not a regular file", path_.string());
}

RowFile::~RowFile() {
  ::close(descriptor_);
}

void RowFile::read(std::uint64_t offset, void* target, std::size_t bytes) const {
  auto* at = static_cast<char*>(target);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("file", "{}: cannot read: {}", path_.string(), std::strerror(errno));
    if (got == 0) fail("file", "{}: it has been cut off while it was in use", path_.string());
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

void RowFile::expect(std::uint64_t offset, std::size_t bytes) const noexcept {
  ::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

}  // namespace lwsvm
