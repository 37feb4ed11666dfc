// An archive (tar, zip) read through libarchive, which knows how to be careful with bytes of strangers. What
// it finds wrong becomes an Error that names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

struct archive;
struct archive_entry;

namespace lwsvm {

enum class ArchiveFormat {
  tar,  // plain or packed by gzip
  zip,  // by its directory at the end, so that a cut file is seen to be one
};

class ArchiveFile {
 public:
  // `place` and `remedy` go into messages. Throws Error unless it is a regular file that begins like an
  // archive.
  ArchiveFile(const char* place, const std::filesystem::path& path, ArchiveFormat format, const char* remedy);
  ~ArchiveFile();
  ArchiveFile(const ArchiveFile&) = delete;
  ArchiveFile& operator=(const ArchiveFile&) = delete;

  bool next();                                       // to the next member; false at the end
  const std::string& name() const { return name_; }  // of this member
  bool is_plain_file() const;                        // not a folder, link or device
  bool is_encrypted() const;
  bool doubtful() const { return doubtful_; }  // libarchive has a warning about its header
  std::uint64_t size() const;                  // as its header says
  std::string format() const;                  // such as "ZIP 2.0 (deflation)"

  // The member's bytes, from front to back; fewer only at its end. What is read is checked against a checksum
  // where the format has one.
  std::size_t read(void* out, std::size_t bytes);

  std::uint64_t file_size() const { return file_size_; }
  [[noreturn]] void broken(const std::string& why) const;

 private:
  void close();

  const char* place_;
  std::string path_;
  const char* remedy_;
  const char* kind_;
  std::uint64_t file_size_ = 0;
  int descriptor_ = -1;
  struct ::archive* archive_ = nullptr;
  struct ::archive_entry* entry_ = nullptr;
  std::string name_;
  bool doubtful_ = false;

  const std::uint8_t* block_ = nullptr;  // what libarchive has unpacked and we have not yet taken
  std::size_t block_left_ = 0;
  std::int64_t position_ = 0;
  bool at_end_ = true;
};

}  // namespace lwsvm
