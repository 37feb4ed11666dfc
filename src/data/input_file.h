// A file read from front to back, unpacked on the way when its content (not its name) says gzip.
//
// Files are not trusted: nothing is allocated because a header claims it. A raw file holds what its size
// says, and deflate expands at most 1032 times, so max_bytes() bounds every honest claim before memory is
// touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lwsvm {

inline constexpr std::uint64_t kDeflateRatio = 1032;  // of zlib: 258 bytes from 2 bits

class InputFile {
 public:
  InputFile(const char* place,
            const std::filesystem::path& path);  // throws Error unless it is a readable file
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  bool compressed() const { return compressed_; }
  std::uint64_t max_bytes() const;  // the content's size if not compressed, else an upper bound

  std::size_t read(void* out, std::size_t bytes);  // fewer bytes only at the end; throws on broken gzip data
  // All of `bytes`, or an Error that says how far the file goes.
  void read_exactly(void* out, std::size_t bytes);
  std::vector<std::uint8_t> read_vector(std::uint64_t bytes);
  void skip(std::uint64_t bytes);
  void expect_end();  // throws if anything is left

 private:
  [[noreturn]] void ends_early(std::uint64_t wanted) const;

  const char* place_;
  std::string path_;
  void* file_ = nullptr;  // gzFile
  bool compressed_ = false;
  std::uint64_t file_size_ = 0;
  std::uint64_t position_ = 0;
};

// The size of a regular file; throws for anything else (a pipe or device could keep us waiting forever).
std::uint64_t regular_file_size(const char* place, const std::filesystem::path& path);

}  // namespace lwsvm
