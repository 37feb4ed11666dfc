// IDX files, the format of MNIST and its relatives, raw or gzipped.
//
//   2 bytes 0 | 1 byte type (8: unsigned byte) | 1 byte rank | rank x 4 bytes big-endian dims | values, C
//   order
//
// A folder holds one file of training images and one of labels (train-images-idx3-ubyte,
// train-labels-idx1-ubyte) and usually the same for testing (t10k-... or test-...); each may end in .gz, and
// prefixes such as emnist-letters- do not disturb.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/dataset.h"

namespace lwsvm {

struct IdxArray {
  std::vector<std::uint64_t> dims;
  std::vector<std::uint8_t> values;
};

IdxArray read_idx(const std::filesystem::path& path);

bool is_idx_folder(const std::filesystem::path& folder);
DataSet load_idx_folder(const std::filesystem::path& folder);

}  // namespace lwsvm
