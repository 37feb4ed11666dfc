#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace lwsvm {

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
  temporary_ = target_;
  temporary_ += fmt::format(".tmp{}", ::getpid());
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("file", "{}: cannot write here: {}", target_.string(), std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const char* position = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, position, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("file", "{}: cannot write: {}", target_.string(), std::strerror(errno));
    }
    position += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("file", "{}: cannot sync: {}", target_.string(), std::strerror(errno));
  ::close(descriptor_);
  descriptor_ = -1;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    fail("file", "{}: cannot put the finished file in place: {}", target_.string(), std::strerror(reason));
  }
  const auto folder = target_.has_parent_path() ? target_.parent_path() : std::filesystem::path(".");
  if (const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); handle >= 0) {
    ::fsync(handle);  // best effort: some file systems refuse to sync a folder
    ::close(handle);
  }
}

void write_file_atomically(const std::filesystem::path& target, std::string_view content) {
  AtomicFile file(target);
  file.write(content);
  file.commit();
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("file", "{}: cannot read: {}", path.string(), std::strerror(errno));
  std::ostringstream content;
  content << stream.rdbuf();
  if (stream.bad()) fail("file", "{}: cannot read: {}", path.string(), std::strerror(errno));
  return std::move(content).str();
}

}  // namespace lwsvm
