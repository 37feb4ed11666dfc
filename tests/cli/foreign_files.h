// A network of another program, as a file.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/atomic_file.h"
#include "model/foreign_cases.h"

namespace lwsvm::cli {

inline void save(const onnx::ModelProto& proto, const std::filesystem::path& path) {
  write_file_atomically(path, proto.SerializeAsString());
}

inline onnx::ModelProto load(const std::filesystem::path& path) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(read_file(path)));
  return proto;
}

inline std::vector<float> small_weights(const Shape& dims, std::uint64_t seed) {
  const double inputs = static_cast<double>(element_count(dims)) / static_cast<double>(dims[0]);
  return random_floats(static_cast<std::size_t>(element_count(dims)), -1 / std::sqrt(inputs),
                       1 / std::sqrt(inputs), seed);
}

// Convolution, ReLU, dense layer and softmax for small_data, in the style of PyTorch.
inline File small_file() {
  File file({1, 1, 8, 8}, 13, {1, 3});
  file.model().set_producer_name("pytorch");
  file.floats("conv.weight", {4, 1, 3, 3}, small_weights({4, 1, 3, 3}, 1));
  file.floats("conv.bias", {4}, small_weights({4}, 2));
  file.floats("fc.weight", {3, 144}, small_weights({3, 144}, 3));
  file.floats("fc.bias", {3}, small_weights({3}, 4));
  file.node("Conv", {"x", "conv.weight", "conv.bias"}, "a");
  file.node("Relu", {"a"}, "r");
  file.node("Flatten", {"r"}, "f");
  File::set(file.node("Gemm", {"f", "fc.weight", "fc.bias"}, "s"), "transB", 1);
  file.node("Softmax", {"s"});
  return file;
}

}  // namespace lwsvm::cli
