#include "model/onnx_places.h"

namespace lwsvm {

Shape row_strides(const Shape& dims) {
  Shape strides(dims.size(), 1);
  for (std::size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * dims[k];
  return strides;
}

std::vector<std::int32_t> strided_places(const Shape& dims, std::int64_t first, const Shape& strides) {
  std::vector<std::int32_t> places(static_cast<std::size_t>(element_count(dims)));
  Shape at(dims.size(), 0);
  std::int64_t place = first;
  for (std::int32_t& next : places) {
    next = static_cast<std::int32_t>(place);
    for (std::size_t k = dims.size(); k-- > 0;) {
      place += strides[k];
      if (++at[k] < dims[k]) break;
      place -= dims[k] * strides[k];
      at[k] = 0;
    }
  }
  return places;
}

std::vector<std::int32_t> spread_places(const Shape& from, const Shape& to) {
  Shape strides = row_strides(from);
  for (std::size_t k = 0; k < from.size(); ++k)
    if (from[k] == 1) strides[k] = 0;
  return strided_places(to, 0, strides);
}

}  // namespace lwsvm
