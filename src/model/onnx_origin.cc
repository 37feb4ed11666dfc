#include "model/onnx_origin.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "model/onnx_constant.h"
#include "model/onnx_reals.h"

namespace lwsvm {
namespace {

// How fine a type is; float64 counts as float32, which is what we compute in.
int bits_kept(int type) {
  return type == onnx::TensorProto::BFLOAT16 ? 8 : type == onnx::TensorProto::FLOAT16 ? 11 : 24;
}

bool is_sign(float factor) {
  return factor == 1.0f || factor == -1.0f;
}

}  // namespace

float Origin::value_of(float stored) const {
  const float number = nearest_real(precision, stored);
  return factor == 1.0f ? number : factor * number;  // a signalling NaN keeps its bits
}

// Dividing by the factor and multiplying again rounds twice; a neighbour may come nearer, and for a value
// that the file can give, one of the three gives it.
float Origin::stored_for(float value) const {
  if (!std::isfinite(value)) return value / factor;
  constexpr float kMaxFloat = std::numeric_limits<float>::max();
  const auto storable = [&](float number) {
    return nearest_real(tensor->data_type(),
                        nearest_real(precision, std::clamp(number, -kMaxFloat, kMaxFloat)));
  };
  const float middle = storable(value / factor);
  if (is_sign(factor)) return middle;
  const int narrowest = std::min(bits_kept(tensor->data_type()), bits_kept(precision));
  const float to_neighbour = 0.75f * std::ldexp(std::abs(middle), 1 - narrowest);
  float best = middle;
  for (float candidate : {storable(middle - to_neighbour), storable(middle + to_neighbour)})
    if (std::abs(value_of(candidate) - value) < std::abs(value_of(best) - value)) best = candidate;
  return best;
}

bool Origin::exact() const {
  return is_sign(factor) && bits_kept(precision) == 24 && bits_kept(tensor->data_type()) == 24;
}

Constant rearranged(const Constant& constant, Shape dims, const std::vector<std::int32_t>& from) {
  Constant result;
  result.dims = std::move(dims);
  result.origin = constant.origin;
  result.reals.reserve(from.size());
  for (std::int32_t k : from) result.reals.push_back(constant.reals[static_cast<std::size_t>(k)]);
  if (!constant.origin.known()) return result;
  result.origin.indices.clear();
  for (std::int32_t k : from)
    result.origin.indices.push_back(
        static_cast<std::int32_t>(constant.origin.index(static_cast<std::size_t>(k))));
  return result;
}

Constant transposed(const Constant& constant, const std::vector<std::int64_t>& order) {
  const std::size_t rank = constant.dims.size();
  LWSVM_CHECK(order.size() == rank);
  Shape stride(rank, 1), dims(rank);
  for (std::size_t k = rank; k-- > 1;) stride[k - 1] = stride[k] * constant.dims[k];
  for (std::size_t k = 0; k < rank; ++k) dims[k] = constant.dims[static_cast<std::size_t>(order[k])];
  std::vector<std::int32_t> from(constant.count());
  Shape at(rank, 0);
  std::int64_t source = 0;
  for (std::int32_t& index : from) {
    index = static_cast<std::int32_t>(source);
    for (std::size_t k = rank; k-- > 0;) {
      const std::int64_t step = stride[static_cast<std::size_t>(order[k])];
      source += step;
      if (++at[k] < dims[k]) break;
      source -= step * dims[k];
      at[k] = 0;
    }
  }
  return rearranged(constant, std::move(dims), from);
}

Constant scaled(Constant constant, float factor) {
  if (factor == 1.0f) return constant;
  for (float& value : constant.reals) value *= factor;
  Origin& origin = constant.origin;
  // Two factors would round twice.
  const bool undone = std::isnormal(factor) && (is_sign(factor) || is_sign(origin.factor));
  if (undone)
    origin.factor *= factor;
  else
    origin = {};
  return constant;
}

Constant cast_to(Constant constant, int type) {
  for (float& value : constant.reals) value = nearest_real(type, value);
  Origin& origin = constant.origin;
  if (bits_kept(type) >= bits_kept(origin.precision)) return constant;
  if (is_sign(origin.factor) && origin.precision != onnx::TensorProto::FLOAT16)
    origin.precision = type;
  else
    origin = {};  // float16 then bfloat16, or a factor in between: rounds twice
  return constant;
}

}  // namespace lwsvm
