#include "model/onnx_constant.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "model/onnx_reals.h"

namespace lwsvm {
namespace {

constexpr std::int64_t kMaxConstantElements = std::numeric_limits<std::int32_t>::max();

struct Storage {
  std::size_t bytes = 0;   // of one element in raw_data; 0: not supported
  std::int64_t typed = 0;  // elements in the typed field
};

Storage storage_of(const onnx::TensorProto& tensor) {
  if (is_real(tensor.data_type())) return {real_bytes(tensor.data_type()), typed_reals(tensor)};
  switch (tensor.data_type()) {
    case onnx::TensorProto::INT64:
      return {8, tensor.int64_data_size()};
    case onnx::TensorProto::INT32:
      return {4, tensor.int32_data_size()};
    default:
      return {};
  }
}

std::string type_name(int type) {
  const std::string name =
      onnx::TensorProto::DataType_IsValid(type)
          ? onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(type))
          : "";
  return name.empty() ? fmt::format("number {}", type) : name;
}

template <typename Stored, typename Value>
void copy_raw(const std::string& raw, std::vector<Value>& values) {
  static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = static_cast<Value>(stored);
  }
}

}  // namespace

std::optional<std::int64_t> checked_count(const Shape& dims, std::int64_t max) {
  bool empty = false;
  std::int64_t count = 1;
  for (std::int64_t size : dims) {
    if (size < 0) return std::nullopt;
    if (size == 0) empty = true;
    if (size > 0 && count > max / size) return std::nullopt;
    if (size > 0) count *= size;
  }
  return empty ? 0 : count;
}

namespace {

// How many elements the shape asks for; the type must be one that we know.
std::int64_t expected_elements(const onnx::TensorProto& tensor, const Storage& storage,
                               const std::string& where) {
  if (storage.bytes == 0)
    fail("onnx", "{}: its type {} is not supported; export the model in float32", where,
         type_name(tensor.data_type()));
  const Shape dims(tensor.dims().begin(), tensor.dims().end());
  const auto count = checked_count(dims, kMaxConstantElements);
  if (!count) fail("onnx", "{}: its shape {} is not possible", where, to_string(dims));
  return *count;
}

}  // namespace

std::uint64_t raw_bytes(const onnx::TensorProto& tensor, const std::string& where) {
  const Storage storage = storage_of(tensor);
  return static_cast<std::uint64_t>(expected_elements(tensor, storage, where)) * storage.bytes;
}

std::int64_t checked_elements(const onnx::TensorProto& tensor, const std::string& where) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    fail("onnx",
         "{}: its data lies in another file, and only a model that is read from a folder can have that",
         where);
  if (tensor.has_segment()) fail("onnx", "{}: tensors in segments are not supported", where);
  const Storage storage = storage_of(tensor);
  const std::int64_t count = expected_elements(tensor, storage, where);
  const bool raw = tensor.has_raw_data();
  const auto expected = static_cast<std::uint64_t>(count) * (raw ? storage.bytes : 1);
  const auto present = raw ? tensor.raw_data().size() : static_cast<std::uint64_t>(storage.typed);
  if (present != expected)
    fail("onnx", "{}: shape {} needs {} {}, the file has {}; it is damaged, get it again", where,
         to_string({tensor.dims().begin(), tensor.dims().end()}), expected, raw ? "bytes" : "values",
         present);
  return count;
}

Constant decode(const onnx::TensorProto& tensor, const std::string& where) {
  const auto count = static_cast<std::size_t>(checked_elements(tensor, where));
  Constant constant;
  constant.dims.assign(tensor.dims().begin(), tensor.dims().end());
  const int type = tensor.data_type();
  constant.integral = type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32;
  const bool raw = tensor.has_raw_data();
  if (constant.integral) {
    constant.integers.resize(count);
    if (type == onnx::TensorProto::INT64) {
      if (raw)
        copy_raw<std::int64_t>(tensor.raw_data(), constant.integers);
      else
        constant.integers.assign(tensor.int64_data().begin(), tensor.int64_data().end());
    } else {
      if (raw)
        copy_raw<std::int32_t>(tensor.raw_data(), constant.integers);
      else
        constant.integers.assign(tensor.int32_data().begin(), tensor.int32_data().end());
    }
  } else {
    constant.reals = reals_of(tensor);
    constant.origin.tensor = &tensor;
  }
  return constant;
}

}  // namespace lwsvm
