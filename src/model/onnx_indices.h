// Which element of a constant goes where when it is transposed, sliced, broadcast: one walk with strides.
// Private to onnx_*.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor.h"

namespace lwsvm {

// Of each axis, how far apart its elements lie in row order.
Shape row_strides(const Shape& dims);

// For each element of a result with these dims, in row order, its index in the source:
//   first + sum_k index_k stride_k
std::vector<std::int32_t> strided_indices(const Shape& dims, std::int64_t first, const Shape& strides);

// A source of shape `from` broadcast to `to`; as many axes, each as it is or 1.
std::vector<std::int32_t> spread_indices(const Shape& from, const Shape& to);

// What a Slice takes: `count` elements of every axis, from `start` on, `step` apart.
struct SliceRange {
  Shape start, step, count;
};

}  // namespace lwsvm
