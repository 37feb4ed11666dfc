#include "model/onnx_indices.h"

namespace lwsvm {

Shape row_strides(const Shape& dims) {
  Shape strides(dims.size(), 1);
  for (std::size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * dims[k];
  return strides;
}

std::vector<std::int32_t> strided_indices(const Shape& dims, std::int64_t first, const Shape& strides) {
  std::vector<std::int32_t> indices(static_cast<std::size_t>(element_count(dims)));
  Shape at(dims.size(), 0);
  std::int64_t index = first;
  for (std::int32_t& next : indices) {
    next = static_cast<std::int32_t>(index);
    for (std::size_t k = dims.size(); k-- > 0;) {
      index += strides[k];
      if (++at[k] < dims[k]) break;
      index -= dims[k] * strides[k];
      at[k] = 0;
    }
  }
  return indices;
}

std::vector<std::int32_t> spread_indices(const Shape& from, const Shape& to) {
  Shape strides = row_strides(from);
  for (std::size_t k = 0; k < from.size(); ++k)
    if (from[k] == 1) strides[k] = 0;
  return strided_indices(to, 0, strides);
}

}  // namespace lwsvm
