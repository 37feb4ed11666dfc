// Arrays saved by numpy.savez or savez_compressed.
//
//   x_train  N x F, N x H x W, N x C x H x W or N x H x W x C (sample_axes.h says how they are told apart);
//            uint8 is kept as bytes, floats and other integers become floats
//   y_train  N or N x 1 integers
//   x_val, y_val     the same, both or neither: a validation part of their own
//   x_test, y_test   the same, both or neither
//
// Each member NAME.npy of the zip archive is: "\x93NUMPY", version, header length, a Python dict such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }, and the values. Fortran order,
// big-endian numbers and Python objects are refused with a word on how to save the array instead.
#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace lwsvm {

bool is_npz(const std::filesystem::path& path);  // by its first bytes
DataSet load_npz(const std::filesystem::path& path);

}  // namespace lwsvm
