// Nodes that read nothing but constants are computed while the file is read: shapes and what exporters do
// with them (Gather, Concat, arithmetic), and weights that are transposed or reshaped before their use.
//
//   Shape(x) -> Gather 0 -> Unsqueeze -> Concat with [-1] -> Reshape(x)
//
// Weights are rearranged together with their origin, so that refined ones find their way back.
//
// The batch is kBatchSize among the sizes. It may be moved about, and multiplied by 1 or added to 0; whatever
// else is computed from it needs a file with a fixed batch.
#include <algorithm>
#include <cmath>
#include <limits>

#include "model/onnx_import.h"
#include "model/onnx_indices.h"
#include "model/onnx_reals.h"

namespace lwsvm {
namespace {

using Indices = std::vector<std::int32_t>;

Constant picked(const NodeImport& node, const Constant& from, const Shape& dims, const Indices& indices) {
  node.charge(std::ssize(indices) * 12);
  if (!from.integral) return rearranged(from, dims, indices);  // with its origin
  Constant result;
  result.dims = dims;
  result.integral = true;
  for (std::int32_t index : indices)
    result.integers.push_back(from.integers[static_cast<std::size_t>(index)]);
  return result;
}

void bind_reshaped(NodeImport& node, Shape dims) {
  Constant same = node.constant(0);
  same.dims = std::move(dims);
  node.bind_constant(std::move(same));
}

Shape checked_dims(const NodeImport& node, const Shape& dims) {
  const auto count = checked_count(dims, kLargestValue);
  if (!count) node.fail("its output would have the shape {}", to_string(dims));
  return dims;
}

Shape dims_of(const NodeImport& node, int i) {
  return node.constant(i).dims;
}

void fold_shape(NodeImport& node) {
  const Shape full = node.is_constant(0) ? dims_of(node, 0) : node.full_shape(0);
  const auto rank = std::ssize(full);
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = clamped(node.integer("start", 0)), end = clamped(node.integer("end", rank));
  Constant sizes;
  sizes.integral = true;
  if (start < end) sizes.integers.assign(full.begin() + start, full.begin() + end);
  sizes.dims = {std::ssize(sizes.integers)};
  node.bind_constant(std::move(sizes));
}

void fold_gather(NodeImport& node) {
  node.expect_inputs(2, 2);
  const Constant data = node.constant(0), indices = node.constant(1);
  const auto rank = std::ssize(data.dims);
  const auto axis = static_cast<std::size_t>(node.axis(node.integer("axis", 0), rank));
  if (!indices.integral) node.fail("Gather needs integers as indices");
  const std::int64_t size = data.dims[axis];
  Shape dims(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.dims.end());
  node.charge(element_count(checked_dims(node, dims)) * 4);
  const std::int64_t inner = row_strides(data.dims)[axis];
  const std::int64_t outer = size * inner == 0 ? 0 : static_cast<std::int64_t>(data.count()) / (size * inner);
  Indices elements;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t index : indices.integers) {
      if (index < -size || index >= size) node.fail("Gather takes element {} of {}", index, size);
      const std::int64_t from = (o * size + (index < 0 ? index + size : index)) * inner;
      for (std::int64_t i = 0; i < inner; ++i) elements.push_back(static_cast<std::int32_t>(from + i));
    }
  node.bind_constant(picked(node, data, dims, elements));
}

void fold_concat(NodeImport& node) {
  node.expect_inputs(1, 1 << 20);
  std::vector<Constant> parts;
  parts.reserve(static_cast<std::size_t>(node.inputs()));
  for (int i = 0; i < node.inputs(); ++i) parts.push_back(node.constant(i));
  Constant joined;
  joined.integral = parts[0].integral;
  joined.dims = parts[0].dims;
  const auto axis = static_cast<std::size_t>(node.axis(node.integer("axis", 1), std::ssize(joined.dims)));
  joined.dims[axis] = 0;
  for (const Constant& part : parts) {
    Shape dims = part.dims;
    if (part.integral != joined.integral || dims.size() != joined.dims.size())
      node.fail("Concat of constants that differ in type or in axes");
    joined.dims[axis] += dims[axis];
    dims[axis] = joined.dims[axis];
    if (dims != joined.dims) node.fail("Concat of constants whose shapes do not fit");
  }
  node.charge(element_count(checked_dims(node, joined.dims)) * 8);
  std::int64_t outer = 1;
  for (std::size_t k = 0; k < axis; ++k) outer *= joined.dims[k];
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Constant& part : parts) {
      const auto run = static_cast<std::ptrdiff_t>(part.count()) / outer;
      if (part.integral)
        joined.integers.insert(joined.integers.end(), part.integers.begin() + o * run,
                               part.integers.begin() + (o + 1) * run);
      else
        joined.reals.insert(joined.reals.end(), part.reals.begin() + o * run,
                            part.reals.begin() + (o + 1) * run);
    }
  node.bind_constant(std::move(joined));
}

void fold_reshape(NodeImport& node) {
  const Shape from = dims_of(node, 0);
  Shape target = node.has_input(1) ? node.integers(1) : node.integers("shape", {});
  const bool literal_zero = node.integer("allowzero", 0) != 0;
  std::int64_t known = 1;
  auto open = target.end();
  for (auto size = target.begin(); size != target.end(); ++size) {
    const auto k = static_cast<std::size_t>(size - target.begin());
    if (*size == 0 && !literal_zero && k < from.size()) *size = from[k];
    if (*size == -1 && open == target.end())
      open = size;
    else if (*size < 0 || (*size > 0 && known > kLargestValue / *size))
      node.fail("Reshape to {} is not possible", to_string(target));
    else
      known *= *size;
  }
  const std::int64_t count = element_count(from);
  if (open != target.end() && known > 0) *open = count / known;
  if (element_count(checked_dims(node, target)) != count)
    node.fail("Reshape of {} to {} is not possible", to_string(from), to_string(target));
  bind_reshaped(node, std::move(target));
}

void fold_flatten(NodeImport& node) {
  const Shape from = dims_of(node, 0);
  const auto rank = std::ssize(from);
  const std::int64_t given = node.integer("axis", 1);
  const std::int64_t axis = given == rank ? rank : node.axis(given, rank);
  const Shape before(from.begin(), from.begin() + axis), after(from.begin() + axis, from.end());
  bind_reshaped(node, {element_count(before), element_count(after)});
}

void fold_squeeze(NodeImport& node) {
  const Shape from = dims_of(node, 0);
  const std::vector<bool> drop = squeezed_axes(node, from);
  Shape kept;
  for (std::size_t k = 0; k < from.size(); ++k)
    if (!drop[k]) kept.push_back(from[k]);
  bind_reshaped(node, std::move(kept));
}

void fold_unsqueeze(NodeImport& node) {
  Shape dims = dims_of(node, 0);
  for (std::int64_t axis : unsqueezed_axes(node, std::ssize(dims))) dims.insert(dims.begin() + axis, 1);
  bind_reshaped(node, std::move(dims));
}

void fold_transpose(NodeImport& node) {
  const Shape from = dims_of(node, 0);
  const std::vector<std::size_t> order = transpose_order(node, from.size());
  const Shape strides = row_strides(from);
  Shape dims, moved;
  for (std::size_t axis : order) {
    dims.push_back(from[axis]);
    moved.push_back(strides[axis]);
  }
  node.charge(element_count(dims) * 4);
  node.bind_constant(picked(node, node.constant(0), dims, strided_indices(dims, 0, moved)));
}

void fold_slice(NodeImport& node) {
  const Shape from = dims_of(node, 0);
  const SliceRange range = read_slice(node, from);
  const Shape strides = row_strides(from);
  Shape steps;
  std::int64_t first = 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    first += range.start[k] * strides[k];
    steps.push_back(range.step[k] * strides[k]);
  }
  node.charge(element_count(range.count) * 4);
  node.bind_constant(picked(node, node.constant(0), range.count, strided_indices(range.count, first, steps)));
}

void fold_constant_of_shape(NodeImport& node) {
  node.expect_inputs(1, 1);
  Constant filled;
  filled.dims = checked_dims(node, node.integers(0));
  const auto count = element_count(filled.dims);
  node.charge(count * 8);
  float value = 0.0f;
  if (const onnx::TensorProto* tensor = node.tensor_attribute("value")) {
    const Constant one = decode(*tensor, node.place());
    if (one.count() != 1) node.fail("its value must be one number");
    filled.integral = one.integral;
    if (one.integral)
      filled.integers.assign(static_cast<std::size_t>(count), one.integers[0]);
    else
      value = one.reals[0];
  }
  if (!filled.integral) filled.reals.assign(static_cast<std::size_t>(count), value);
  node.bind_constant(std::move(filled));
}

std::int64_t truncated(const NodeImport& node, float value) {
  if (!(std::abs(value) < 9e18f)) node.fail("{} is no integer that a Cast could give", value);
  return static_cast<std::int64_t>(value);
}

void fold_cast(NodeImport& node) {
  const std::int64_t to = node.integer("to", 0);
  const bool to_real = to >= 0 && to < 1000 && is_real(static_cast<int>(to));
  if (!to_real && to != onnx::TensorProto::INT64 && to != onnx::TensorProto::INT32)
    node.fail("Cast of constants is supported to real numbers, int32 and int64 only");
  Constant value = node.constant(0);
  if (to_real && !value.integral) return node.bind_constant(cast_to(std::move(value), static_cast<int>(to)));
  if (!to_real && value.integral) return node.pass_on(0);
  Constant result;
  result.dims = value.dims;
  result.integral = !to_real;
  if (std::count(value.integers.begin(), value.integers.end(), kBatchSize) > 0)
    node.fail("Cast of the batch's size to real numbers is not supported");
  result.reals.assign(value.integers.begin(), value.integers.end());
  for (float real : value.reals) result.integers.push_back(truncated(node, real));
  node.bind_constant(std::move(result));
}

enum class Arithmetic { add, subtract, multiply, divide, maximum, minimum };

float computed(const NodeImport&, Arithmetic what, float a, float b) {
  switch (what) {
    case Arithmetic::add:
      return a + b;
    case Arithmetic::subtract:
      return a - b;
    case Arithmetic::multiply:
      return a * b;
    case Arithmetic::divide:
      return a / b;
    case Arithmetic::maximum:
      return std::max(a, b);
    case Arithmetic::minimum:
      return std::min(a, b);
  }
  return 0;
}

// The batch's size, where the operation leaves it as it is; a fixed one otherwise.
std::int64_t with_batch(const NodeImport& node, Arithmetic what, std::int64_t a, std::int64_t b);

std::int64_t computed(const NodeImport& node, Arithmetic what, std::int64_t a, std::int64_t b) {
  if (a == kBatchSize || b == kBatchSize) return with_batch(node, what, a, b);
  const auto wrap = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (what) {
    case Arithmetic::add:
      return wrap(x + y);
    case Arithmetic::subtract:
      return wrap(x - y);
    case Arithmetic::multiply:
      return wrap(x * y);
    case Arithmetic::divide:
      if (b == 0) node.fail("division by 0");
      return b == -1 ? wrap(0 - x) : a / b;
    case Arithmetic::maximum:
      return std::max(a, b);
    case Arithmetic::minimum:
      return std::min(a, b);
  }
  return 0;
}

std::int64_t with_batch(const NodeImport& node, Arithmetic what, std::int64_t a, std::int64_t b) {
  const bool product = what == Arithmetic::multiply, sum = what == Arithmetic::add;
  if (b == (product || what == Arithmetic::divide ? 1 : 0) && what <= Arithmetic::divide) return a;
  if ((product && a == 1) || (sum && a == 0)) return b;
  if (node.fixed_batch() == 0)
    node.fail("it computes with the size of the batch; export the model with a fixed batch of 1");
  const auto number = [&](std::int64_t value) { return value == kBatchSize ? node.fixed_batch() : value; };
  return computed(node, what, number(a), number(b));
}

Shape broadcast_dims(const NodeImport& node, Shape a, Shape b) {
  if (a.size() < b.size()) std::swap(a, b);
  b.insert(b.begin(), a.size() - b.size(), 1);
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] != b[k] && a[k] != 1 && b[k] != 1)
      node.fail("constants of shapes {} and {} do not fit together", to_string(a), to_string(b));
    if (a[k] == 1) a[k] = b[k];
  }
  return checked_dims(node, a);
}

Constant combined(const NodeImport& node, Arithmetic what, const Constant& a, const Constant& b) {
  if (a.integral != b.integral) node.fail("{} of real numbers and integers", node.op());
  if (what == Arithmetic::multiply && !a.integral) {  // by one number: weights keep their origin
    if (b.count() == 1 && b.dims.size() <= a.dims.size()) return scaled(a, b.reals[0]);
    if (a.count() == 1 && a.dims.size() <= b.dims.size()) return scaled(b, a.reals[0]);
  }
  Constant result;
  result.integral = a.integral;
  result.dims = broadcast_dims(node, a.dims, b.dims);
  const auto spread = [&](const Constant& from) {
    Shape dims = from.dims;
    dims.insert(dims.begin(), result.dims.size() - dims.size(), 1);
    return picked(node, from, result.dims, spread_indices(dims, result.dims));
  };
  node.charge(element_count(result.dims) * 8);
  const Constant left = spread(a), right = spread(b);
  for (std::size_t k = 0; k < left.count(); ++k) {
    if (result.integral)
      result.integers.push_back(computed(node, what, left.integers[k], right.integers[k]));
    else
      result.reals.push_back(computed(node, what, left.reals[k], right.reals[k]));
  }
  return result;
}

template <Arithmetic what>
void fold_arithmetic(NodeImport& node) {
  node.expect_inputs(1, 1 << 20);
  Constant result = node.constant(0);
  for (int i = 1; i < node.inputs(); ++i) result = combined(node, what, result, node.constant(i));
  node.bind_constant(std::move(result));
}

void fold_neg(NodeImport& node) {
  Constant value = node.constant(0);
  if (!value.integral) return node.bind_constant(scaled(std::move(value), -1.0f));
  Constant zero;
  zero.integral = true;
  zero.integers = {0};
  node.bind_constant(combined(node, Arithmetic::subtract, zero, value));
}

template <float (*round)(float)>
void fold_rounding(NodeImport& node) {
  Constant value = node.reals(0);
  value.origin = {};
  for (float& real : value.reals) real = round(real);
  node.bind_constant(std::move(value));
}

float floor_of(float value) {
  return std::floor(value);
}
float ceil_of(float value) {
  return std::ceil(value);
}

void fold_identity(NodeImport& node) {
  node.expect_inputs(1, 1);
  node.pass_on(0);
}

constexpr OperatorImporter kFoldedOperators[] = {
    {"Add", fold_arithmetic<Arithmetic::add>},
    {"Cast", fold_cast},
    {"Ceil", fold_rounding<ceil_of>},
    {"Concat", fold_concat},
    {"ConstantOfShape", fold_constant_of_shape},
    {"Div", fold_arithmetic<Arithmetic::divide>},
    {"Flatten", fold_flatten},
    {"Floor", fold_rounding<floor_of>},
    {"Gather", fold_gather},
    {"Identity", fold_identity},
    {"Max", fold_arithmetic<Arithmetic::maximum>},
    {"Min", fold_arithmetic<Arithmetic::minimum>},
    {"Mul", fold_arithmetic<Arithmetic::multiply>},
    {"Neg", fold_neg},
    {"Reshape", fold_reshape},
    {"Shape", fold_shape},
    {"Slice", fold_slice},
    {"Squeeze", fold_squeeze},
    {"Sub", fold_arithmetic<Arithmetic::subtract>},
    {"Sum", fold_arithmetic<Arithmetic::add>},
    {"Transpose", fold_transpose},
    {"Unsqueeze", fold_unsqueeze},
};

}  // namespace

bool fold(NodeImport& node) {
  const auto* found = std::find_if(std::begin(kFoldedOperators), std::end(kFoldedOperators),
                                   [&](const OperatorImporter& entry) { return node.op() == entry.op; });
  if (found == std::end(kFoldedOperators) || node.inputs() == 0) return false;
  const bool asks_for_a_shape = node.op() == "Shape" && node.is_computed(0);
  for (int i = 0; i < node.inputs() && !asks_for_a_shape; ++i)
    if (!node.is_foldable(i)) return false;
  if (!node.has_input(0)) node.fail("input 0 of {} is missing", node.op());
  found->import(node);
  return true;
}

std::vector<std::string> foldable_operators() {
  std::vector<std::string> names;
  for (const OperatorImporter& entry : kFoldedOperators) names.emplace_back(entry.op);
  return names;
}

}  // namespace lwsvm
