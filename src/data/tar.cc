#include "data/tar.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "data/input_file.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTarPlace = "tar";
constexpr std::uint64_t kBlock = 512;
using TarHeader = std::array<char, kBlock>;

std::string text_field(const TarHeader& header, std::size_t start, std::size_t length) {
  return std::string(header.data() + start, ::strnlen(header.data() + start, length));
}

std::uint64_t octal_field(const std::string& path, const TarHeader& header, std::size_t start,
                          std::size_t length) {
  std::uint64_t value = 0;
  for (const char c : text_field(header, start, length)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7') fail(kTarPlace, "{}: not a tar archive, or damaged; get it again", path);
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// The sum of the header's bytes, with the checksum's own eight as spaces.
void check_sum(const std::string& path, const TarHeader& header) {
  std::uint64_t sum = 8 * ' ';
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(header[i]);
  }
  if (sum != octal_field(path, header, 148, 8))
    fail(kTarPlace, "{}: not a tar archive, or damaged; get it again", path);
}

std::string member_name(const TarHeader& header) {
  const std::string name = text_field(header, 0, 100);
  const bool ustar = std::memcmp(header.data() + 257, "ustar", 5) == 0;
  const std::string prefix = ustar ? text_field(header, 345, 155) : "";
  return prefix.empty() ? name : prefix + "/" + name;
}

void copy_member(InputFile& from, std::uint64_t bytes, const fs::path& to) {
  AtomicFile out(to);
  std::vector<std::uint8_t> buffer(1 << 18);
  while (bytes > 0) {
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, buffer.size()));
    from.read_exactly(buffer.data(), step);
    out.write(buffer.data(), step);
    bytes -= step;
  }
  out.commit();
}

}  // namespace

void extract_tar(const fs::path& archive, const std::map<std::string, fs::path>& wanted,
                 const std::function<void(const std::string&)>& written) {
  InputFile file(kTarPlace, archive);
  std::map<std::string, fs::path> left = wanted;
  TarHeader header;
  while (!left.empty()) {
    const std::size_t got = file.read(header.data(), kBlock);
    const bool end = got == 0 || std::all_of(header.begin(), header.end(), [](char c) { return c == 0; });
    if (end || got != kBlock) {
      fail(kTarPlace, "{}: ends without {}; get it again", archive.string(), left.begin()->first);
    }
    check_sum(file.path(), header);
    const std::uint64_t size = octal_field(file.path(), header, 124, 12);
    const char type = header[156];
    const auto found = left.find(member_name(header));
    if (found != left.end() && (type == '0' || type == '\0')) {
      copy_member(file, size, found->second);
      if (written) written(found->first);
      left.erase(found);
    } else {
      file.skip(size);
    }
    file.skip((kBlock - size % kBlock) % kBlock);
  }
}

}  // namespace lwsvm
