// Zip archives, as far as npz files need them: stored and deflated members, zip64 sizes.
//
//   members: "PK\3\4" local header, data | "PK\1\2" central directory entries | "PK\5\6" end record
//
// Sizes are taken from the central directory and checked against the archive's size before anything is
// allocated; the CRC-32 of each member is checked when its last byte is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace lwsvm {

struct ZipMember {
  std::string name;
  int method = 0;  // 0: stored, 8: deflated
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0, offset = 0;  // offset of the local header
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
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  std::uint64_t left() const { return left_; }
  void read(void* out, std::size_t bytes);  // exactly; throws Error at the end or when the data is broken

 private:
  struct Inflater;
  void read_stored(std::uint8_t* out, std::size_t bytes);
  void read_deflated(std::uint8_t* out, std::size_t bytes);
  std::size_t fill();

  std::string path_;
  std::string name_;
  std::ifstream file_;
  std::uint64_t packed_left_, left_;
  std::uint32_t crc_ = 0, expected_crc_;
  std::vector<std::uint8_t> buffer_;
  std::unique_ptr<Inflater> inflater_;  // null for stored members
};

}  // namespace lwsvm
