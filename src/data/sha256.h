// SHA-256 (FIPS 180-4), to tell a whole data file from a damaged one.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

namespace lwsvm {

class Sha256 {
 public:
  void update(const void* data, std::size_t bytes);
  std::string hex();  // of everything so far; ends the computation

 private:
  void block(const std::uint8_t* data);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t bytes_ = 0;
};

std::string sha256_of_file(const std::filesystem::path& path);  // of the content, unpacked if it is gzip

}  // namespace lwsvm
