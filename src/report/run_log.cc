#include "report/run_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_reader.h"

namespace lwsvm {

void RunLog::open(int flags) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | flags, 0644);
  if (descriptor_ < 0) fail("log", "{}: cannot open: {}", path_.string(), std::strerror(errno));
  // Where the file system knows no locks, there is none.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
    remove_stale_temporaries(path_.parent_path());  // the folder is ours now
    return;
  }
  ::close(descriptor_);
  fail("log", "{}: another lwsvm is at work on this run; wait for its end, stop it, or give another folder",
       path_.string());
}

RunLog::RunLog(const std::filesystem::path& folder) : path_(folder / "log.jsonl") {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) fail("log", "{}: cannot make the folder: {}", folder.string(), code.message());
  open(O_CREAT);
  if (::ftruncate(descriptor_, 0) == 0) return;
  const std::string problem = std::strerror(errno);
  ::close(descriptor_);
  fail("log", "{}: cannot be emptied: {}", path_.string(), problem);
}

RunLog::RunLog(const std::filesystem::path& folder, std::uint64_t offset) : path_(folder / "log.jsonl") {
  open(0);
  struct stat status {};
  char before = '\n';
  std::string problem;
  if (::fstat(descriptor_, &status) != 0) {
    problem = std::strerror(errno);
  } else if (static_cast<std::uint64_t>(status.st_size) < offset) {
    problem = fmt::format("has {} bytes, but the checkpoint was made after byte {}", status.st_size, offset);
  } else if (offset > 0 &&
             (::pread(descriptor_, &before, 1, static_cast<off_t>(offset - 1)) != 1 || before != '\n')) {
    problem = fmt::format("has no line that ends at the checkpoint's byte {}", offset);
  } else if (::ftruncate(descriptor_, static_cast<off_t>(offset)) != 0) {
    problem = fmt::format("cannot be cut: {}", std::strerror(errno));
  } else {
    offset_ = offset;
  }
  if (problem.empty()) return;
  ::close(descriptor_);
  fail("log", "{}: {}; log and checkpoint are not of the same run", path_.string(), problem);
}

RunLog::~RunLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RunLog::RunLog(RunLog&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      offset_(other.offset_) {}

void RunLog::write(const nlohmann::ordered_json& record) {
  LWSVM_CHECK(record.is_object() && record.contains("type") && record["type"].is_string());
  // dump() writes NaN and infinity as null. File names need not be UTF-8: replace what is not, rather than
  // fail.
  const std::string line =
      record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    // At offset_, not at the file's end: after a failed write the next record replaces the broken line.
    const auto position = static_cast<off_t>(offset_ + line.size() - rest.size());
    const ssize_t written = ::pwrite(descriptor_, rest.data(), rest.size(), position);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("log", "{}: cannot write: {}", path_.string(), std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  offset_ += line.size();
}

std::uint64_t RunLog::sync() {
  if (::fdatasync(descriptor_) != 0) fail("log", "{}: cannot sync: {}", path_.string(), std::strerror(errno));
  return offset_;
}

RunLogContent read_run_log(const std::filesystem::path& file, BrokenLines policy) {
  const std::string text = read_file(file);
  RunLogContent content;
  std::size_t start = 0;
  for (int number = 1; start < text.size(); ++number) {
    const std::size_t found = text.find('\n', start);
    const std::size_t end = found == std::string::npos ? text.size() : found;
    const std::string_view line = std::string_view(text).substr(start, end - start);
    start = end + 1;
    const bool blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (blank) continue;
    auto record = read_json(line);
    content.last_line = number;
    if (record.is_object()) {
      content.records.push_back(std::move(record));
      content.lines.push_back(number);
    } else if (start >= text.size()) {
      content.truncated = true;
    } else if (policy == BrokenLines::skip) {
      content.broken.push_back(number);
    } else {
      fail("log", "{}: line {} is not a JSON object; is this a log of lwsvm?", file.string(), number);
    }
  }
  return content;
}

}  // namespace lwsvm
