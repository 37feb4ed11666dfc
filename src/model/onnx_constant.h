// Constants of an ONNX file, decoded and checked. Private to onnx_*.cc.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/tensor.h"
#include "model/onnx_origin.h"

namespace lwsvm {

struct Constant {
  Shape dims;
  bool integral = false;
  std::vector<float> reals;            // unless integral
  std::vector<std::int64_t> integers;  // if integral
  Origin origin;                       // of the reals

  std::size_t count() const { return integral ? integers.size() : reals.size(); }
};

// The product of sizes; nothing if one is negative or the product exceeds `max`.
std::optional<std::int64_t> checked_count(const Shape& dims, std::int64_t max);

// How many elements the tensor says it has; throws Error if that or its type cannot be, or its data is not
// all there. `where` begins the message: "model.onnx: initialiser 'w'".
std::int64_t checked_elements(const onnx::TensorProto& tensor, const std::string& where);
// The size that its raw_data must have.
std::uint64_t raw_bytes(const onnx::TensorProto& tensor, const std::string& where);
Constant decode(const onnx::TensorProto& tensor, const std::string& where);

}  // namespace lwsvm
