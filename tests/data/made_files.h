// Files of the formats that src/data reads, made byte by byte: for its tests, and for fuzzers to begin with.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace lwsvm::test {

inline std::string gzipped(const std::string& content) {
  z_stream stream{};
  LWSVM_CHECK(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, content.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<unsigned>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  LWSVM_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// npz: arrays in a zip archive.

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

template <typename T>
inline std::string raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

inline std::string npy(const std::string& type, const std::string& shape, const std::string& values,
                       const std::string& order = "False") {
  std::string dict = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  dict.resize((dict.size() + 10 + 64) / 64 * 64 - 10 - 1, ' ');
  dict += '\n';
  return std::string("\x93NUMPY\1\0", 8) + little_endian(dict.size(), 2) + dict + values;
}

inline std::string deflated(const std::string& content) {
  const std::string packed = gzipped(content);
  return packed.substr(10, packed.size() - 18);  // without gzip's header and trailer
}

struct ZipMemberBytes {
  std::string name, content;
};

inline std::string zip(const std::vector<ZipMemberBytes>& members, bool pack) {
  std::string archive, directory;
  for (const ZipMemberBytes& member : members) {
    const std::string data = pack ? deflated(member.content) : member.content;
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(member.content.data()),
                           static_cast<unsigned>(member.content.size()));
    const std::string common = little_endian(0, 2) + little_endian(pack ? 8 : 0, 2) + little_endian(0, 4) +
                               little_endian(crc, 4) + little_endian(data.size(), 4) +
                               little_endian(member.content.size(), 4) +
                               little_endian(member.name.size(), 2) + little_endian(0, 2);
    directory += "PK\1\2" + little_endian(20, 2) + little_endian(20, 2) + common + little_endian(0, 2) +
                 little_endian(0, 2) + little_endian(0, 2) + little_endian(0, 4) +
                 little_endian(archive.size(), 4) + member.name;
    archive += "PK\3\4" + little_endian(20, 2) + common + member.name + data;
  }
  return archive + directory + "PK\5\6" + little_endian(0, 4) + little_endian(members.size(), 2) +
         little_endian(members.size(), 2) + little_endian(directory.size(), 4) +
         little_endian(archive.size(), 4) + little_endian(0, 2);
}

// IDX.

inline std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

inline std::string idx(const std::vector<std::uint32_t>& dims, const std::string& values) {
  std::string content{'\0', '\0', '\x08', static_cast<char>(dims.size())};
  for (const auto dim : dims) content += big_endian(dim);
  return content + values;
}

// CIFAR.

inline constexpr std::size_t kCifarPixels = 3072;

inline char cifar_pixel(std::size_t sample, std::size_t p) {
  return static_cast<char>(sample * 31 + p * 7 + p / 256);
}

// Records first, first + 1, ...; their fine labels (or only labels) are given.
inline std::string cifar_records(std::size_t first, const std::vector<int>& labels, bool coarse) {
  std::string content;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (coarse) content += static_cast<char>(labels[i] % 20);
    content += static_cast<char>(labels[i]);
    for (std::size_t p = 0; p < kCifarPixels; ++p) content += cifar_pixel(first + i, p);
  }
  return content;
}

}  // namespace lwsvm::test
