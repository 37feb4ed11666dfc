#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace lwsvm {

MappedFile::MappedFile(const std::filesystem::path& path) {
  // O_NONBLOCK: a pipe must not keep us waiting for its other end.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail("file", "{}: cannot read: {}", path.string(), std::strerror(errno));
  struct stat status {};
  const bool plain = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (plain && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapped != MAP_FAILED) data_ = static_cast<const std::uint8_t*>(mapped);
  }
  const int reason = errno;
  ::close(descriptor);
  if (!plain) fail("file", "{}: not a regular file", path.string());
  if (status.st_size == 0) fail("file", "{}: the file is empty", path.string());
  if (!data_) fail("file", "{}: cannot map: {}", path.string(), std::strerror(reason));
}

MappedFile::~MappedFile() {
  // munmap takes what mmap gave; the const was only ours.
  if (data_) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

NewMappedFile::NewMappedFile(std::filesystem::path target, std::size_t bytes)
    : target_(std::move(target)), temporary_(fmt::format("{}.tmp{}", target_.string(), ::getpid())) {
  LWSVM_CHECK(bytes > 0);
  const auto give_up = [&](int reason) {
    close();
    fail("file", "{}: cannot write here: {}", target_.string(), std::strerror(reason));
  };
  descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) give_up(errno);
  if (const int reason = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes)); reason != 0)
    give_up(reason);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped == MAP_FAILED) give_up(errno);
  data_ = static_cast<std::uint8_t*>(mapped);
  size_ = bytes;
}

NewMappedFile::~NewMappedFile() {
  close();
}

void NewMappedFile::close() {
  if (data_) ::munmap(std::exchange(data_, nullptr), size_);
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void NewMappedFile::commit(std::size_t bytes) {
  LWSVM_CHECK(data_ && bytes > 0 && bytes <= size_);
  ::munmap(std::exchange(data_, nullptr), size_);
  const bool placed = ::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0 &&
                      ::rename(temporary_.c_str(), target_.c_str()) == 0;
  const int reason = errno;
  if (placed) temporary_.clear();
  close();
  if (!placed)
    fail("file", "{}: cannot put the finished file in place: {}", target_.string(), std::strerror(reason));
}

}  // namespace lwsvm
