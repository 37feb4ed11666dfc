// Files that are either whole or absent: written under a temporary name beside the target, synced, then
// renamed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lwsvm {

class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);  // throws Error when the folder cannot be written
  ~AtomicFile();                                      // not committed: the temporary file is removed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();  // sync, rename, sync the folder

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

void write_file_atomically(const std::filesystem::path& target, std::string_view content);
std::string read_file(const std::filesystem::path& path);  // throws Error naming the path

}  // namespace lwsvm
