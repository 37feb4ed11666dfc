#include "model/onnx_reals.h"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace lwsvm {
namespace {

using onnx::TensorProto;
static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

std::uint16_t short_bits(int type, float value) {
  return type == TensorProto::FLOAT16 ? Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value))
                                      : Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(value));
}

float from_short_bits(int type, std::uint16_t bits) {
  return type == TensorProto::FLOAT16 ? static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits))
                                      : static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(bits));
}

// Each of `values` from what lies in raw_data at its place.
template <typename Stored, typename Convert>
void read_raw(const std::string& raw, std::vector<float>& values, Convert convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
}

template <typename Stored>
void set_raw(std::string& raw, std::size_t i, Stored value) {
  std::memcpy(raw.data() + i * sizeof(Stored), &value, sizeof(Stored));
}

}  // namespace

bool is_real(int type) {
  return real_bytes(type) != 0;
}

std::size_t real_bytes(int type) {
  switch (type) {
    case TensorProto::FLOAT:
      return 4;
    case TensorProto::DOUBLE:
      return 8;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return 2;
    default:
      return 0;
  }
}

int typed_reals(const TensorProto& tensor) {
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      return tensor.float_data_size();
    case TensorProto::DOUBLE:
      return tensor.double_data_size();
    default:
      return tensor.int32_data_size();  // the bits of the short types
  }
}

std::vector<float> reals_of(const TensorProto& tensor) {
  const int type = tensor.data_type();
  const auto from_bits = [&](auto bits) { return from_short_bits(type, static_cast<std::uint16_t>(bits)); };
  const auto from_double = [](double value) { return static_cast<float>(value); };
  if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    std::vector<float> values(raw.size() / real_bytes(type));
    if (values.empty()) return values;
    if (type == TensorProto::FLOAT)
      std::memcpy(values.data(), raw.data(), raw.size());  // a signalling NaN keeps its bits
    else if (type == TensorProto::DOUBLE)
      read_raw<double>(raw, values, from_double);
    else
      read_raw<std::uint16_t>(raw, values, from_bits);
    return values;
  }
  std::vector<float> values(static_cast<std::size_t>(typed_reals(tensor)));
  if (type == TensorProto::FLOAT)
    std::ranges::copy(tensor.float_data(), values.begin());
  else if (type == TensorProto::DOUBLE)
    std::ranges::transform(tensor.double_data(), values.begin(), from_double);
  else
    std::ranges::transform(tensor.int32_data(), values.begin(), from_bits);
  return values;
}

float nearest_real(int type, float value) {
  if (type == TensorProto::FLOAT || type == TensorProto::DOUBLE) return value;
  const float nearest = from_short_bits(type, short_bits(type, value));
  if (!std::isinf(nearest) || std::isinf(value)) return nearest;
  const std::uint16_t largest = type == TensorProto::FLOAT16 ? 0x7bff : 0x7f7f;
  return std::copysign(from_short_bits(type, largest), value);
}

void set_real(TensorProto& tensor, std::size_t i, float value) {
  const int type = tensor.data_type(), at = static_cast<int>(i);
  const bool raw = tensor.has_raw_data();
  if (type == TensorProto::FLOAT) {
    raw ? set_raw(*tensor.mutable_raw_data(), i, value) : tensor.set_float_data(at, value);
  } else if (type == TensorProto::DOUBLE) {
    const double exact = static_cast<double>(value);
    raw ? set_raw(*tensor.mutable_raw_data(), i, exact) : tensor.set_double_data(at, exact);
  } else {
    const std::uint16_t bits = short_bits(type, value);
    raw ? set_raw(*tensor.mutable_raw_data(), i, bits) : tensor.set_int32_data(at, bits);
  }
}

}  // namespace lwsvm
