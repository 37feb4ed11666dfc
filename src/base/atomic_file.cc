#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/error.h"

namespace lwsvm {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 255;  // NAME_MAX; also that of the temporary file
constexpr std::string_view kTemporaryMark = ".tmp";

enum class TargetKind { file, stream };  // stream: there, and no regular file

TargetKind kind_of(const fs::path& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return TargetKind::file;
  if (S_ISDIR(status.st_mode)) fail("file", "{} is a folder; give the name of a file", target.string());
  return TargetKind::stream;
}

// Where the links lead, whether or not there is a file yet.
fs::path without_links(const fs::path& target) {
  constexpr int max_links = 40;  // as the kernel has it
  fs::path resolved = target;
  std::error_code ignored;
  for (int link = 0; fs::is_symlink(fs::symlink_status(resolved, ignored)); ++link) {
    std::error_code problem;
    const fs::path next = fs::read_symlink(resolved, problem);
    if (problem || link == max_links)
      fail("file", "{}: cannot follow the link: {}", target.string(),
           problem ? problem.message() : "it leads in a circle");
    resolved = resolved.parent_path() / next;  // next, if that is absolute
  }
  return resolved;
}

// NAME.tmpPID in the same folder; of a NAME that leaves no room for the end, the beginning.
fs::path temporary_for(const fs::path& resolved) {
  const std::string end = fmt::format("{}{}", kTemporaryMark, ::getpid());
  const std::string name = resolved.filename().string();
  if (name.size() > kLongestName) return resolved.parent_path() / (name + end);  // open() says what is wrong
  return resolved.parent_path() / (name.substr(0, kLongestName - end.size()) + end);
}

int open_temporary(const fs::path& temporary, const fs::path& target) {
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("file", "{}: cannot write here: {}", target.string(), std::strerror(errno));
  return descriptor;
}

}  // namespace

AtomicFile::AtomicFile(fs::path target) : target_(std::move(target)) {
  if (kind_of(target_) == TargetKind::stream) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("file", "{}: cannot write into it: {}", target_.string(), std::strerror(errno));
    return;
  }
  resolved_ = without_links(target_);
  temporary_ = temporary_for(resolved_);
  descriptor_ = open_temporary(temporary_, target_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
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
  const bool into_a_stream = temporary_.empty();  // which cannot be synced
  if (!into_a_stream && ::fsync(descriptor_) != 0)
    fail("file", "{}: cannot sync: {}", target_.string(), std::strerror(errno));
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 && errno != EINTR) {  // some file systems find out only now that they are full
    const int reason = errno;
    if (!into_a_stream) ::unlink(temporary_.c_str());
    fail("file", "{}: cannot write: {}", target_.string(), std::strerror(reason));
  }
  if (into_a_stream) return;
  if (::rename(temporary_.c_str(), resolved_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    fail("file", "{}: cannot put the finished file in place: {}", target_.string(), std::strerror(reason));
  }
  const auto folder = resolved_.has_parent_path() ? resolved_.parent_path() : fs::path(".");
  if (const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); handle >= 0) {
    ::fsync(handle);  // best effort: some file systems refuse to sync a folder
    ::close(handle);
  }
}

void check_writable(const fs::path& target) {
  if (kind_of(target) == TargetKind::stream) {
    struct stat status {};
    const bool socket = ::stat(target.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
    if (socket || ::access(target.c_str(), W_OK) != 0)
      fail("file", "{}: cannot write into it: {}", target.string(),
           socket ? "it is a socket" : std::strerror(errno));
    return;
  }
  const fs::path resolved = without_links(target);
  if (resolved.filename().string().size() > kLongestName)
    fail("file", "{}: cannot write here: {}", target.string(), std::strerror(ENAMETOOLONG));
  const fs::path temporary = temporary_for(resolved);
  ::close(open_temporary(temporary, target));
  ::unlink(temporary.c_str());
}

void remove_stale_temporaries(const fs::path& folder) {
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename().string();
    const std::size_t mark = name.rfind(kTemporaryMark);
    if (mark == std::string::npos || mark == 0) continue;
    const char* digits = name.data() + mark + kTemporaryMark.size();
    pid_t owner = 0;
    const auto [end, mistake] = std::from_chars(digits, name.data() + name.size(), owner);
    if (mistake != std::errc() || end != name.data() + name.size() || owner <= 0) continue;
    const bool runs = owner != ::getpid() && (::kill(owner, 0) == 0 || errno == EPERM);
    std::error_code ignored;
    if (!runs && entry.is_regular_file(ignored)) ::unlink(entry.path().c_str());
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
