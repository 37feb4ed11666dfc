// The binary versions of CIFAR-10 and CIFAR-100.
//
//   CIFAR-10   data_batch_1.bin ... and test_batch.bin, records of 1 + 3072 bytes:      label, R, G, B planes
//   CIFAR-100  train.bin and test.bin,                  records of 1 + 1 + 3072 bytes:  coarse label, fine
//   label, planes
//
// Each plane is 32 x 32, row by row. A file is its records and nothing else. The fine labels of CIFAR-100 are
// used.
#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace lwsvm {

enum class CifarKind { cifar10, cifar100 };

bool is_cifar_folder(const std::filesystem::path& folder, CifarKind kind);
DataSet load_cifar_folder(const std::filesystem::path& folder, CifarKind kind);

}  // namespace lwsvm
