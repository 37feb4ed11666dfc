// Flatten, Reshape, Transpose, Pad, Slice; Dropout, Identity, Cast, Constant.
//
// The file counts the batch as axis 0; layers do not. It must stay where it is.
#include <algorithm>

#include "model/onnx_import.h"
#include "model/onnx_reals.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

using Integers = std::vector<std::int64_t>;

void import_flatten(NodeImport& node) {
  const auto rank = static_cast<std::int64_t>(node.shape(0).size()) + 1;
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis != 1)
    node.fail("Flatten with axis {} is not supported, only with 1: the batch stays an axis of its own", axis);
  node.emit([] { return std::make_shared<FlattenLayer>(); }, {node.tensor(0)});
}

// [batch, sizes...]; the batch may be 0 (as it is), -1 (what is left) or a number that the exporter fixed.
void import_reshape(NodeImport& node) {
  const Integers target = node.has_input(1) ? node.integers(1) : node.integers("shape", {});
  const Shape& in = node.shape(0);
  if (target.size() < 2) node.fail("Reshape to {} leaves no axis for the batch", to_string(target));
  Shape sample(target.begin() + 1, target.end());
  const bool literal_zero = node.integer("allowzero", 0) != 0;
  int open = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (sample[i] == 0 && !literal_zero && i < in.size()) sample[i] = in[i];
    if (sample[i] == -1) ++open;
    if (sample[i] == 0 || sample[i] < -1) node.fail("Reshape to {} is not possible", to_string(target));
  }
  if (open > 1 || (open == 1 && target[0] == -1))
    node.fail("Reshape to {} leaves two sizes open", to_string(target));
  Shape known = sample;
  std::replace(known.begin(), known.end(), std::int64_t{-1}, std::int64_t{1});
  const auto count = checked_count(known, kLargestValue);
  if (!count || element_count(in) % *count != 0 || (open == 0 && element_count(in) != *count))
    node.fail("Reshape of {} to {} would mix the samples of a batch", to_string(in), to_string(target));
  node.emit([&] { return std::make_shared<ReshapeLayer>(sample); }, {node.tensor(0)});
}

void import_transpose(NodeImport& node) {
  const std::size_t rank = node.shape(0).size() + 1;
  const Integers order = node.integers("perm", {});
  if (order.size() != rank || order[0] != 0) node.fail("Transpose that moves the batch is not supported");
  Integers sample_order;
  for (std::size_t i = 1; i < rank; ++i) {
    if (order[i] < 1 || order[i] >= static_cast<std::int64_t>(rank))
      node.fail("Transpose names axis {}", order[i]);
    sample_order.push_back(order[i] - 1);
  }
  node.emit([&] { return std::make_shared<TransposeLayer>(sample_order); }, {node.tensor(0)});
}

// Up to opset 10 the amounts are attributes, then inputs.
void import_pad(NodeImport& node) {
  node.expect_inputs(1, 3);
  if (node.text("mode", "constant") != "constant")
    node.fail("Pad is supported with a constant only, not in mode '{}'", node.text("mode", ""));
  const Integers pads = node.has_input(1) ? node.integers(1) : node.integers("pads", {});
  const float value = node.has_input(2) ? node.real(2) : node.real("value", 0.0f);
  const std::size_t rank = node.shape(0).size() + 1;
  if (pads.size() != 2 * rank) node.fail("Pad has {} amounts for {} axes", pads.size(), rank);
  for (std::int64_t amount : pads)
    if (amount < -kLargestValue || amount > kLargestValue) node.fail("Pad by {} is not possible", amount);
  if (pads[0] != 0 || pads[rank] != 0) node.fail("Pad would add samples to the batch");
  const auto half = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  const Shape before(pads.begin() + 1, half), after(half + 1, pads.end());
  node.emit([&] { return std::make_shared<PadLayer>(before, after, value); }, {node.tensor(0)});
}

// Up to opset 9 starts, ends and axes are attributes, then inputs. Negative positions count from the end, and
// what lies outside is moved to the edge.
void import_slice(NodeImport& node) {
  node.expect_inputs(1, 5);
  const Shape& in = node.shape(0);
  const auto rank = static_cast<std::int64_t>(in.size()) + 1;
  const Integers starts = node.has_input(1) ? node.integers(1) : node.integers("starts", {});
  const Integers ends = node.has_input(2) ? node.integers(2) : node.integers("ends", {});
  Integers axes = node.has_input(3) ? node.integers(3) : node.integers("axes", {});
  Integers steps = node.has_input(4) ? node.integers(4) : Integers(starts.size(), 1);
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    node.fail("Slice has {} starts, {} ends, {} axes and {} steps", starts.size(), ends.size(), axes.size(),
              steps.size());

  Shape start(in.size(), 0), step(in.size(), 1), count = in;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    std::int64_t axis = axes[k];
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) node.fail("Slice along axis {} of {} axes", axes[k], rank);
    if (axis == 0) {
      const bool all = starts[k] == 0 && ends[k] >= kLargestValue && steps[k] == 1;
      if (!all) node.fail("Slice would take samples out of the batch");
      continue;
    }
    const auto a = static_cast<std::size_t>(axis - 1);
    const std::int64_t size = in[a];
    if (steps[k] == 0 || steps[k] < -kLargestValue || steps[k] > kLargestValue)
      node.fail("Slice with step {}", steps[k]);
    const bool forward = steps[k] > 0;
    const auto settle = [&](std::int64_t position, std::int64_t low, std::int64_t high) {
      if (position < 0) position += size;
      return std::clamp(position, low, high);
    };
    const std::int64_t from = forward ? settle(starts[k], 0, size) : settle(starts[k], 0, size - 1);
    const std::int64_t to = forward ? settle(ends[k], 0, size) : settle(ends[k], -1, size - 1);
    const std::int64_t span = forward ? to - from : from - to, stride = forward ? steps[k] : -steps[k];
    if (span <= 0) node.fail("Slice from {} to {} takes nothing of {} elements", starts[k], ends[k], size);
    start[a] = from;
    step[a] = steps[k];
    count[a] = (span + stride - 1) / stride;
  }
  node.emit([&] { return std::make_shared<SliceLayer>(start, step, count); }, {node.tensor(0)});
}

// Up to opset 11 the rate is an attribute, then an input.
void import_dropout(NodeImport& node) {
  node.expect_inputs(1, 3);
  const float rate = node.has_input(1) ? node.real(1) : node.real("ratio", 0.5f);
  node.emit([&] { return std::make_shared<DropoutLayer>(rate); }, {node.tensor(0)});
}

void import_identity(NodeImport& node) {
  node.expect_inputs(1, 1);
  node.pass_on(0);
}

void import_cast(NodeImport& node) {
  node.expect_inputs(1, 1);
  (void)node.tensor(0);
  if (!is_real(static_cast<int>(node.integer("to", 0))))
    node.fail("Cast is supported between types of real numbers only");
  node.pass_on(0);
}

void import_constant(NodeImport& node) {
  if (const onnx::TensorProto* tensor = node.tensor_attribute("value")) {
    ImportedValue value;
    value.tensor = tensor;
    return node.bind(0, std::move(value));
  }
  Constant constant;
  if (node.has("value_float")) {
    constant.reals = {node.real("value_float", 0.0f)};
  } else if (node.has("value_int")) {
    constant.integral = true;
    constant.integers = {node.integer("value_int", 0)};
  } else if (node.has("value_ints")) {
    constant.integral = true;
    constant.integers = node.integers("value_ints", {});
    constant.dims = {static_cast<std::int64_t>(constant.integers.size())};
  } else {
    node.fail("Constant of this type is not supported");
  }
  node.bind_constant(std::move(constant));
}

constexpr OperatorImporter kTable[] = {
    {"Cast", import_cast},       {"Constant", import_constant}, {"Dropout", import_dropout},
    {"Flatten", import_flatten}, {"Identity", import_identity}, {"Pad", import_pad},
    {"Reshape", import_reshape}, {"Slice", import_slice},       {"Transpose", import_transpose},
};

}  // namespace

std::span<const OperatorImporter> shape_importers() {
  return kTable;
}

}  // namespace lwsvm
