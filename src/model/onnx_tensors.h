// The tensors of a model's file by name, with the numbers that write_onnx would put there: for whoever keeps
// the same weights elsewhere under the same names, as PyTorch does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"

namespace lwsvm {

struct FileTensor {
  std::string name;
  std::vector<std::int64_t> dims;
  std::vector<float> values;  // float64 rounded, the others exactly
};

// The initialisers that hold real numbers. None of a model that was not read from a file.
std::vector<FileTensor> real_tensors(const Model& model);

// The names of those that a layer's weights and biases come from, each once; without those that have no name.
std::vector<std::string> tensor_names(const Model& model, int node);

}  // namespace lwsvm
