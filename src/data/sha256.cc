#include "data/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "data/input_file.h"

namespace lwsvm {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  LWSVM_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() {
  EVP_MD_CTX_free(context_);
}

void Sha256::update(const void* data, std::size_t bytes) {
  LWSVM_CHECK(EVP_DigestUpdate(context_, data, bytes) == 1);
}

std::string Sha256::hex() {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  LWSVM_CHECK(EVP_DigestFinal_ex(context_, digest.data(), &size) == 1);
  std::string text;
  for (const std::uint8_t byte : std::span(digest).first(size)) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256_of_file(const std::filesystem::path& path) {
  InputFile file("data", path);
  Sha256 sum;
  std::vector<std::uint8_t> buffer(1 << 18);
  while (const std::size_t got = file.read(buffer.data(), buffer.size())) sum.update(buffer.data(), got);
  return sum.hex();
}

}  // namespace lwsvm
