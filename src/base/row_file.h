// A regular file that is read at any place, by several threads at once. Unlike a mapping it adds nothing to
// the memory that a program holds, however much of it is read, and a disk that fails is an Error.
#pragma once

#include <cstdint>
#include <filesystem>

namespace lwsvm {

class RowFile {
 public:
  explicit RowFile(std::filesystem::path path);  // throws Error
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  std::uint64_t size() const { return size_; }  // when it was opened
  // Throws Error where the file ends before that.
  void read(std::uint64_t offset, void* target, std::size_t bytes) const;
  // These bytes will be read soon: the system may fetch them meanwhile.
  void expect(std::uint64_t offset, std::size_t bytes) const noexcept;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace lwsvm
