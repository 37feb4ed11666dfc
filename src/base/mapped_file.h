// Files as memory: read-only ones, and new ones that appear under their name whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace lwsvm {

// A regular file of at least one byte, mapped for reading. Removing or replacing the file (by a rename, as
// NewMappedFile does) leaves the mapping as it was.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // throws Error
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

// A file that is filled in any order, under a temporary name beside the target, then renamed. Its space is
// taken on disk at once, so that a full disk shows here and not as a signal later. Not synced: for files with
// checksums that can be made again.
class NewMappedFile {
 public:
  NewMappedFile(std::filesystem::path target, std::size_t bytes);  // throws Error: no space, no permission
  ~NewMappedFile();                                                // not committed: nothing is left
  NewMappedFile(const NewMappedFile&) = delete;
  NewMappedFile& operator=(const NewMappedFile&) = delete;

  std::span<std::uint8_t> bytes() { return {data_, size_}; }
  void commit(std::size_t bytes);  // cut to this size, and put into place

 private:
  void close();

  std::filesystem::path target_, temporary_;
  int descriptor_ = -1;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lwsvm
