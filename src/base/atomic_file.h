// Files that are either whole or absent: written under a temporary name beside the target, synced, then
// renamed.
//
// A symlink is followed: the file that it names is replaced, and the link stays. What is there and no regular
// file (a device such as /dev/null, a FIFO) is written into, since a rename would put a file in its place.
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
  std::filesystem::path target_;     // as given, for messages
  std::filesystem::path resolved_;   // without symlinks; empty: written into as it is
  std::filesystem::path temporary_;  // beside resolved_
  int descriptor_ = -1;
};

// Throws the Error that an AtomicFile would: to find out before hours of work. Leaves nothing behind, and
// does not open what is no regular file, because a reader at the other end would notice.
void check_writable(const std::filesystem::path& target);

// Removes what AtomicFiles of processes that were killed have left in the folder. Files of processes that
// still run stay.
void remove_stale_temporaries(const std::filesystem::path& folder);

void write_file_atomically(const std::filesystem::path& target, std::string_view content);
std::string read_file(const std::filesystem::path& path);  // throws Error naming the path

}  // namespace lwsvm
