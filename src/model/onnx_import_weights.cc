// Operators on weights, before they reach their layer: Transpose, Reshape, Flatten, Squeeze, Unsqueeze, Cast,
// Neg, and Mul by a number. Exporters that fold no constants leave these in the file (Keras and TensorFlow a
// Transpose, CNTK a Reshape, float16 converters a Cast).
//
// Each rearranges the constant together with its origin, so that refined weights find their way back.
#include <algorithm>
#include <numeric>

#include "model/onnx_import.h"
#include "model/onnx_reals.h"

namespace lwsvm {
namespace {

using Integers = std::vector<std::int64_t>;

void transpose_weights(NodeImport& node) {
  const Constant weights = node.reals(0);
  const auto rank = static_cast<std::int64_t>(weights.dims.size());
  Integers order(weights.dims.size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = node.integers("perm", order);
  Integers sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t k = 0; k < std::max<std::int64_t>(rank, std::ssize(sorted)); ++k)
    if (std::ssize(sorted) != rank || sorted[static_cast<std::size_t>(k)] != k)
      node.fail("its perm is no order of the {} axes of {}", rank, to_string(weights.dims));
  node.bind_constant(transposed(weights, order));
}

void bind_reshaped(NodeImport& node, Constant weights, Shape dims) {
  const auto count = checked_count(dims, kLargestValue);
  if (!count || static_cast<std::size_t>(*count) != weights.count())
    node.fail("{} of {} to {} is not possible", node.op(), to_string(weights.dims), to_string(dims));
  weights.dims = std::move(dims);
  node.bind_constant(std::move(weights));
}

void reshape_weights(NodeImport& node) {
  Constant weights = node.reals(0);
  Integers dims = node.has_input(1) ? node.integers(1) : node.integers("shape", {});
  const bool literal_zero = node.integer("allowzero", 0) != 0;
  for (std::size_t k = 0; k < dims.size(); ++k)
    if (dims[k] == 0 && !literal_zero && k < weights.dims.size()) dims[k] = weights.dims[k];
  const auto open = std::find(dims.begin(), dims.end(), -1);
  if (open != dims.end()) {
    *open = 1;
    const auto known = checked_count(dims, kLargestValue);
    if (!known || *known == 0) node.fail("Reshape of weights to {} is not possible", to_string(dims));
    *open = static_cast<std::int64_t>(weights.count()) / *known;
  }
  bind_reshaped(node, std::move(weights), std::move(dims));
}

void flatten_weights(NodeImport& node) {
  Constant weights = node.reals(0);
  const auto rank = std::ssize(weights.dims);
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) node.fail("Flatten along axis {} of {} axes", axis, rank);
  const auto middle = weights.dims.begin() + axis;
  Shape dims{element_count({weights.dims.begin(), middle}), element_count({middle, weights.dims.end()})};
  bind_reshaped(node, std::move(weights), std::move(dims));
}

Integers axes_of(const NodeImport& node, std::int64_t rank) {
  Integers axes = node.has_input(1) ? node.integers(1) : node.integers("axes", {});
  for (std::int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) node.fail("{} names axis {} of {}", node.op(), axis, rank);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

void squeeze_weights(NodeImport& node) {
  Constant weights = node.reals(0);
  Shape dims = weights.dims;
  Integers axes = axes_of(node, std::ssize(dims));
  if (axes.empty())
    for (std::int64_t k = 0; k < std::ssize(dims); ++k)
      if (dims[static_cast<std::size_t>(k)] == 1) axes.push_back(k);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis)
    if (*axis < std::ssize(dims)) dims.erase(dims.begin() + *axis);
  bind_reshaped(node, std::move(weights), std::move(dims));
}

void unsqueeze_weights(NodeImport& node) {
  Constant weights = node.reals(0);
  Shape dims = weights.dims;
  const auto count = std::ssize(node.has_input(1) ? node.integers(1) : node.integers("axes", {}));
  for (std::int64_t axis : axes_of(node, std::ssize(dims) + count)) {
    if (axis > std::ssize(dims)) node.fail("Unsqueeze names an axis twice");
    dims.insert(dims.begin() + axis, 1);
  }
  bind_reshaped(node, std::move(weights), std::move(dims));
}

// From one type of real numbers to another; to integers is not for weights.
bool cast_weights(NodeImport& node) {
  const std::int64_t type = node.integer("to", 0);
  if (type < 0 || type > 1000 || !is_real(static_cast<int>(type))) return false;
  node.bind_constant(cast_to(node.reals(0), static_cast<int>(type)));
  return true;
}

bool scale_weights(NodeImport& node) {
  if (!node.is_real_constant(1)) return false;
  Constant first = node.reals(0), second = node.reals(1);
  if (first.count() != 1 && second.count() != 1) return false;
  Constant& weights = second.count() == 1 ? first : second;
  const float factor = (second.count() == 1 ? second : first).reals[0];
  node.bind_constant(scaled(std::move(weights), factor));
  return true;
}

}  // namespace

bool import_weights(NodeImport& node) {
  if (!node.is_real_constant(0)) return false;
  const std::string& op = node.op();
  if (op == "Cast") return cast_weights(node);
  if (op == "Mul") return scale_weights(node);
  if (op == "Transpose") return transpose_weights(node), true;
  if (op == "Reshape") return reshape_weights(node), true;
  if (op == "Flatten") return flatten_weights(node), true;
  if (op == "Squeeze") return squeeze_weights(node), true;
  if (op == "Unsqueeze") return unsqueeze_weights(node), true;
  if (op == "Neg") return node.bind_constant(scaled(node.reals(0), -1.0f)), true;
  return false;
}

}  // namespace lwsvm
