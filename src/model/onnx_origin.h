// Where a constant's numbers lie in the file, so that others can be put there. Private to onnx_*.cc.
//
//   value k = factor * as(precision, number indices[k] of the tensor)
//
// Whatever rearranges a constant on its way into a layer (Transpose, Reshape, a Gemm's alpha, ...) goes
// through the functions below, which keep this true. What cannot be undone number by number has no origin.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <vector>

namespace lwsvm {

struct Constant;

struct Origin {
  const onnx::TensorProto* tensor = nullptr;  // null: no origin
  float factor = 1;
  int precision = onnx::TensorProto::FLOAT;  // the narrowest type that a Cast takes it through
  std::vector<std::int32_t> indices;         // empty: all, in order

  bool known() const { return tensor != nullptr; }
  std::size_t index(std::size_t k) const {
    return indices.empty() ? k : static_cast<std::size_t>(indices[k]);
  }

  // The value that the file gives for number `stored`.
  float value_of(float stored) const;
  // What to store for the nearest value to this; value_of gives that value.
  float stored_for(float value) const;
  float nearest(float value) const { return value_of(stored_for(value)); }
  bool exact() const;  // nearest(x) is x, always
};

// Element k of the result is element from[k] of the constant.
Constant rearranged(const Constant& constant, std::vector<std::int64_t> dims,
                    const std::vector<std::int32_t>& from);
Constant transposed(const Constant& constant, const std::vector<std::int64_t>& order);
Constant scaled(Constant constant, float factor);
Constant cast_to(Constant constant, int type);

}  // namespace lwsvm
