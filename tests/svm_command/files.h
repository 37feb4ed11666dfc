// Data written in the formats that `lwsvm svm`, `lwsvm eval` and liblinear-train read.
#pragma once

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ssvm/toys.h"

namespace lwsvm {

inline void write_text(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Nine digits give every float back. names: the label of each class in the file, rising.
inline void write_libsvm(const std::filesystem::path& path, const toys::Data& data,
                         const std::vector<std::int64_t>& names) {
  std::string text;
  for (std::int64_t i = 0; i < data.samples; ++i) {
    text += std::to_string(names[data.labels[i]]);
    for (std::int64_t j = 0; j < data.width; ++j)
      if (data.row(i)[j] != 0) text += fmt::format(" {}:{:.9g}", j + 1, data.row(i)[j]);
    text += '\n';
  }
  write_text(path, text);
}

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return text;
}

inline std::string npy(const std::string& type, const std::string& shape, const void* values,
                       std::size_t bytes) {
  std::string dict = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  dict.resize((dict.size() + 10 + 64) / 64 * 64 - 10 - 1, ' ');
  dict += '\n';
  return std::string("\x93NUMPY\1\0", 8) + little_endian(dict.size(), 2) + dict +
         std::string(static_cast<const char*>(values), bytes);
}

// x_train: N x F floats, y_train: N class numbers; as numpy.savez writes them.
inline void write_npz(const std::filesystem::path& path, const toys::Data& data) {
  const std::pair<std::string, std::string> members[] = {
      {"x_train.npy", npy("<f4", fmt::format("({}, {})", data.samples, data.width), data.features.data(),
                          data.features.size() * sizeof(float))},
      {"y_train.npy", npy("<i4", fmt::format("({},)", data.samples), data.labels.data(),
                          data.labels.size() * sizeof(std::int32_t))}};
  std::string archive, directory;
  for (const auto& [name, content] : members) {
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<unsigned>(content.size()));
    const std::string common = little_endian(0, 8) + little_endian(crc, 4) +
                               little_endian(content.size(), 4) + little_endian(content.size(), 4) +
                               little_endian(name.size(), 2) + little_endian(0, 2);
    directory += "PK\1\2" + little_endian(20, 2) + little_endian(20, 2) + common + little_endian(0, 10) +
                 little_endian(archive.size(), 4) + name;
    archive += "PK\3\4" + little_endian(20, 2) + common + name + content;
  }
  write_text(path, archive + directory + "PK\5\6" + little_endian(0, 4) + little_endian(2, 2) +
                       little_endian(2, 2) + little_endian(directory.size(), 4) +
                       little_endian(archive.size(), 4) + little_endian(0, 2));
}

}  // namespace lwsvm
