// Zip archives, as far as npz files need them: stored and deflated members.
//
// A member's size is checked against the archive's before anything is allocated; its CRC-32 is checked when
// its last byte is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/archive_file.h"

namespace lwsvm {

struct ZipMember {
  std::string name;
  std::uint64_t size = 0;
};

class ZipArchive {
 public:
  explicit ZipArchive(const std::filesystem::path& path);  // throws Error

  const std::string& path() const { return path_; }
  const std::vector<ZipMember>& members() const { return members_; }
  const ZipMember* find(const std::string& name) const;  // null: not there

 private:
  std::string path_;
  std::vector<ZipMember> members_;
};

// Reads one member from front to back.
class ZipReader {
 public:
  ZipReader(const ZipArchive& archive, const ZipMember& member);

  std::uint64_t left() const { return left_; }
  void read(void* out, std::size_t bytes);  // exactly; throws Error at the end or when the data is broken

 private:
  std::string path_;
  ArchiveFile file_;  // of its own, since two arrays are read side by side
  std::uint64_t left_ = 0;
};

}  // namespace lwsvm
