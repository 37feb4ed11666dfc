// What commands keep for each other and can make again: decoded photos, features of a frozen part.
//
//   FOLDER/KIND/NAME.bin      FOLDER: --cache, or $XDG_CACHE_HOME/lwsvm, or ~/.cache/lwsvm
//
// Every file begins with a head of kCacheHead bytes, in which a person can read what it is; what follows is
// the kind's own. When a file was last used is its time of modification. Where the files of all kinds
// together exceed the limit, those that have not been used for longest go first. Removing a file that a
// command has mapped does not disturb that command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lwsvm {

inline constexpr std::size_t kCacheHead = 512;
inline constexpr std::uint64_t kDefaultCacheLimit = std::uint64_t{20} << 30;

struct CacheEntry {
  std::string kind;         // "photos"
  std::string description;  // of what
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::int64_t last_use = 0;  // seconds since 1970
};

class CacheFolder {
 public:
  // `folder` empty: the default. Nothing is made before it is needed.
  explicit CacheFolder(const std::filesystem::path& folder = {}, std::uint64_t limit = kDefaultCacheLimit);

  bool usable() const { return !folder_.empty() && limit_ > 0; }  // not without a home folder
  const std::filesystem::path& folder() const { return folder_; }

  std::filesystem::path path(const std::string& kind, const std::string& name) const;
  static void touch(const std::filesystem::path& file);  // used now

  // Makes the kind's folder and room for a file of so many bytes, which may replace the one at `target`.
  // False where it is larger than the limit or the folder cannot be made.
  bool make_room(const std::filesystem::path& target, std::uint64_t bytes) const;

  std::vector<CacheEntry> entries() const;  // last used first
  // Of one kind, or all if it is empty; what a killed command left half done too. Returns what is gone.
  std::vector<CacheEntry> clear(const std::string& kind = "") const;

 private:
  std::filesystem::path folder_;
  std::uint64_t limit_;
};

// Exactly kCacheHead bytes; the description is cut where it is too long.
std::string cache_head(std::string_view kind, std::string_view description);
// Kind and description; nothing unless `bytes` begin with such a head.
std::optional<CacheEntry> parse_cache_head(std::string_view bytes);

}  // namespace lwsvm
