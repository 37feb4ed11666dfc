#include "base/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "base/atomic_file.h"
#include "base/error.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCacheMark = "lwsvm cache\n";
constexpr const char* kCacheSuffix = ".bin";

fs::path default_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return fs::path(cache) / "lwsvm";  // a relative one is to be ignored
  const char* home = std::getenv("HOME");
  if (home && *home) return fs::path(home) / ".cache" / "lwsvm";
  return {};
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (c == '\n' || c == '\0') c = '?';
  return line;
}

std::optional<CacheEntry> entry_at(const fs::path& path, const std::string& kind) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string head(kCacheHead, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(head.data(), static_cast<std::streamsize>(head.size()))) return {};
  std::optional<CacheEntry> entry = parse_cache_head(head);
  if (!entry || entry->kind != kind) return {};
  entry->path = path;
  entry->bytes = static_cast<std::uint64_t>(status.st_size);
  entry->last_use = status.st_mtime;
  return entry;
}

}  // namespace

std::string cache_head(std::string_view kind, std::string_view description) {
  std::string head = fmt::format("{}{}\n{}", kCacheMark, one_line(kind), one_line(description));
  head.resize(std::min(head.size(), kCacheHead - 1));
  head += '\n';
  head.resize(kCacheHead, '\0');
  return head;
}

std::optional<CacheEntry> parse_cache_head(std::string_view bytes) {
  if (bytes.size() < kCacheHead || !bytes.starts_with(kCacheMark)) return {};
  bytes = bytes.substr(kCacheMark.size(), kCacheHead - kCacheMark.size());
  const std::size_t kind_end = bytes.find('\n');
  if (kind_end == std::string_view::npos) return {};
  const std::size_t end = bytes.find('\n', kind_end + 1);
  if (end == std::string_view::npos) return {};
  CacheEntry entry;
  entry.kind = bytes.substr(0, kind_end);
  entry.description = bytes.substr(kind_end + 1, end - kind_end - 1);
  return entry;
}

CacheFolder::CacheFolder(const fs::path& folder, std::uint64_t limit)
    : folder_(folder.empty() ? default_cache_folder() : fs::absolute(folder)), limit_(limit) {}

fs::path CacheFolder::path(const std::string& kind, const std::string& name) const {
  LWSVM_CHECK(!folder_.empty());
  return folder_ / kind / (name + kCacheSuffix);
}

void CacheFolder::touch(const fs::path& file) {
  ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);  // if not, it only looks older than it is
}

bool CacheFolder::make_room(const fs::path& target, std::uint64_t bytes) const {
  if (!usable() || bytes > limit_) return false;
  std::error_code problem;
  fs::create_directories(target.parent_path(), problem);
  if (!fs::is_directory(target.parent_path(), problem)) return false;
  remove_stale_temporaries(target.parent_path());
  std::vector<CacheEntry> others = entries();
  std::erase_if(others, [&](const CacheEntry& entry) { return entry.path == target; });
  std::uint64_t total = bytes;
  for (const CacheEntry& entry : others) total += entry.bytes;
  for (; total > limit_ && !others.empty(); others.pop_back()) {
    if (fs::remove(others.back().path, problem)) total -= others.back().bytes;
  }
  return total <= limit_;
}

std::vector<CacheEntry> CacheFolder::entries() const {
  std::vector<CacheEntry> found;
  if (folder_.empty()) return found;
  std::error_code problem;
  for (const fs::directory_entry& kind : fs::directory_iterator(folder_, problem)) {
    std::error_code ignored;
    if (!kind.is_directory(ignored)) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(kind.path(), ignored)) {
      if (file.path().extension() != kCacheSuffix) continue;
      if (auto entry = entry_at(file.path(), kind.path().filename().string()))
        found.push_back(std::move(*entry));
    }
  }
  std::ranges::sort(found, [](const CacheEntry& a, const CacheEntry& b) {
    return a.last_use != b.last_use ? a.last_use > b.last_use : a.path < b.path;
  });
  return found;
}

std::vector<CacheEntry> CacheFolder::clear(const std::string& kind) const {
  std::vector<CacheEntry> gone;
  for (CacheEntry& entry : entries()) {
    if (!kind.empty() && entry.kind != kind) continue;
    std::error_code problem;
    remove_stale_temporaries(entry.path.parent_path());
    if (!fs::remove(entry.path, problem))
      fail("cache", "{}: cannot be removed: {}", entry.path.string(), problem.message());
    gone.push_back(std::move(entry));
  }
  return gone;
}

}  // namespace lwsvm
