// SHA-256 (FIPS 180-4) by libcrypto, to tell a whole data file from a damaged one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

struct evp_md_ctx_st;

namespace lwsvm {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(const void* data, std::size_t bytes);
  std::string hex();  // of everything so far; ends the computation

 private:
  evp_md_ctx_st* context_;
};

std::string sha256_of_file(const std::filesystem::path& path);  // of the content, unpacked if it is gzip

}  // namespace lwsvm
