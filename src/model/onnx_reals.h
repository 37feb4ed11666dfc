// Real numbers as ONNX tensors hold them: float32, float64, float16 and bfloat16, in raw_data or typed
// fields. Private to onnx_*.cc.
//
// We compute in float32. A number goes back in its own type, so what is computed with must be a number that
// the type can hold: nearest_real.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <vector>

namespace lwsvm {

bool is_real(int type);
std::size_t real_bytes(int type);                              // of one number in raw_data
int typed_reals(const onnx::TensorProto& tensor);              // how many the typed field holds
std::vector<float> reals_of(const onnx::TensorProto& tensor);  // all; their number was checked

// The nearest number that the type can hold; beyond its range the largest.
float nearest_real(int type, float value);
// One number of the tensor, which must be one that its type can hold. Everything else stays as it is.
void set_real(onnx::TensorProto& tensor, std::size_t i, float value);

}  // namespace lwsvm
