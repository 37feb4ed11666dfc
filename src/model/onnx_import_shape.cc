// Flatten, Reshape, Pad; Dropout, Identity, Cast, Constant.
#include <algorithm>

#include "model/onnx_import.h"
#include "model/onnx_reals.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

using Integers = std::vector<std::int64_t>;

std::string shape_text(const Shape& shape) {  // the batch as a letter
  std::vector<std::string> sizes;
  for (std::int64_t size : shape) sizes.push_back(size == kBatchSize ? "N" : std::to_string(size));
  return fmt::format("{}", fmt::join(sizes, "x"));
}

void import_flatten(NodeImport& node) {
  const std::int64_t rank = node.rank(0), given = node.integer("axis", 1);
  const std::int64_t axis = given == rank ? rank : node.axis(given, rank);
  const bool one = node.batch_is_one();
  if (node.batch_axis(0) == 0 && (axis == 1 || (axis == 0 && one)))
    return node.emit([] { return std::make_shared<FlattenLayer>(); }, {node.tensor(0)});
  if (node.batch_axis(0) >= 0 && !one)
    node.fail("Flatten with axis {} is not supported, only with 1: the batch stays an axis of its own", axis);
  Shape full = node.full_shape(0);
  std::replace(full.begin(), full.end(), kBatchSize, std::int64_t{1});
  const Shape before(full.begin(), full.begin() + axis), after(full.begin() + axis, full.end());
  const Shape sample{element_count(before), element_count(after)};
  node.emit([&] { return std::make_shared<ReshapeLayer>(sample); }, {node.tensor(0)}, {}, -1);
}

// The sizes asked for: 0 is as it was, at most one is left open (-1), one may be the batch's.
Shape asked_shape(const NodeImport& node) {
  const Integers given = node.has_input(1) ? node.sizes(1) : node.integers("shape", {});
  const bool literal_zero = node.integer("allowzero", 0) != 0;
  const Shape full = node.full_shape(0);
  Shape target = given;
  int open = 0;
  for (std::size_t k = 0; k < target.size(); ++k) {
    std::int64_t& size = target[k];
    if (size == 0 && !literal_zero && k < full.size()) size = full[k];
    if (size == -1) ++open;
    if (size != kBatchSize && (size == 0 || size < -1 || size > kLargestValue))
      node.fail("Reshape to {} is not possible", to_string(given));
  }
  if (open > 1) node.fail("Reshape to {} leaves two sizes open", to_string(given));
  return target;
}

// With -1 as what is left of the elements.
Shape filled(Shape target, std::int64_t elements) {
  std::int64_t known = 1;
  for (std::int64_t size : target)
    if (size > 0) known = known > elements ? known : known * size;  // too large is too large
  for (std::int64_t& size : target)
    if (size == -1) size = elements / known;
  return target;
}

// The batch is where the shape says so (it was computed from that of a value); otherwise it is the first
// size: -1, or a number that the exporter fixed. A batch of one may be merged with the rest.
void import_reshape(NodeImport& node) {
  const std::int64_t elements = element_count(node.shape(0));
  const bool one = node.batch_is_one();
  if (!one) node.expect_batch_first(0);
  const Shape asked = asked_shape(node);
  Shape target = asked;
  auto batch_axis = static_cast<int>(std::find(asked.begin(), asked.end(), kBatchSize) - asked.begin());
  if (batch_axis == std::ssize(asked)) {
    if (one) target = filled(asked, elements);
    batch_axis = target.size() > 1 && (!one || target[0] == 1) ? 0 : -1;
  }
  if (batch_axis >= 0) target.erase(target.begin() + batch_axis);
  if ((batch_axis != 0 && !one) || checked_count(filled(target, elements), kLargestValue) != elements)
    node.fail("Reshape of {} to {} would mix the samples of a batch", to_string(node.shape(0)),
              shape_text(asked));
  node.emit([&] { return std::make_shared<ReshapeLayer>(target); }, {node.tensor(0)}, {}, batch_axis);
}

// From opset 18 on the amounts may be those of some axes only.
Integers pads_of_all_axes(const NodeImport& node, const Integers& given, const Integers& axes) {
  const std::int64_t rank = node.rank(0);
  if (given.size() != 2 * axes.size()) node.fail("Pad has {} amounts for {} axes", given.size(), axes.size());
  Integers pads(static_cast<std::size_t>(2 * rank), 0);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::int64_t axis = node.axis(axes[k], rank);
    pads[static_cast<std::size_t>(axis)] = given[k];
    pads[static_cast<std::size_t>(rank + axis)] = given[axes.size() + k];
  }
  return pads;
}

// Up to opset 10 the amounts are attributes, then inputs.
void import_pad(NodeImport& node) {
  node.expect_inputs(1, 4);
  if (node.text("mode", "constant") != "constant")
    node.fail("Pad is supported with a constant only, not in mode '{}'", node.text("mode", ""));
  const char* attribute = node.has("paddings") ? "paddings" : "pads";  // its name in opset 1
  Integers pads = node.has_input(1) ? node.integers(1) : node.integers(attribute, {});
  const float value = node.has_input(2) ? node.real(2) : node.real("value", 0.0f);
  const std::int64_t rank = node.rank(0), batch = node.batch_axis(0);
  if (node.has_input(3)) pads = pads_of_all_axes(node, pads, node.integers(3));
  if (std::ssize(pads) != 2 * rank) node.fail("Pad has {} amounts for {} axes", pads.size(), rank);
  for (std::int64_t amount : pads)
    if (amount < -kLargestValue || amount > kLargestValue) node.fail("Pad by {} is not possible", amount);
  Shape before(pads.begin(), pads.begin() + rank), after(pads.begin() + rank, pads.end());
  if (batch >= 0) {
    if (before[static_cast<std::size_t>(batch)] != 0 || after[static_cast<std::size_t>(batch)] != 0)
      node.fail("Pad would add samples to the batch");
    before.erase(before.begin() + batch);
    after.erase(after.begin() + batch);
  }
  node.emit([&] { return std::make_shared<PadLayer>(before, after, value); }, {node.tensor(0)});
}

bool is_true(const ImportedValue& flag) {
  if (!flag.tensor) return false;
  const std::string& raw = flag.tensor->raw_data();
  return raw.find_first_not_of('\0') != std::string::npos ||
         (flag.tensor->int32_data_size() > 0 && flag.tensor->int32_data(0) != 0);
}

// Up to opset 11 the rate is an attribute, then an input.
void import_dropout(NodeImport& node) {
  node.expect_inputs(1, 3);
  if (node.has_input(2) && is_true(node.value(2)))
    node.fail("it is in training mode; export the model for inference");
  const float rate = node.has_input(1) ? node.real(1) : node.real("ratio", 0.5f);
  node.emit([&] { return std::make_shared<DropoutLayer>(rate); }, {node.tensor(0)});
}

void import_identity(NodeImport& node) {
  node.expect_inputs(1, 1);
  node.pass_on(0);
}

// Everything is computed in float32; what a narrower type would round off stays.
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
  } else if (node.has("value_floats")) {
    constant.reals = node.reals("value_floats");
    constant.dims = {std::ssize(constant.reals)};
  } else if (node.has("value_ints")) {
    constant.integral = true;
    constant.integers = node.integers("value_ints", {});
    constant.dims = {static_cast<std::int64_t>(constant.integers.size())};
  } else {
    node.fail("Constant of this type is not supported");
  }
  node.bind_constant(std::move(constant));
}

constexpr OperatorImporter kShape[] = {
    {"Cast", import_cast},       {"Constant", import_constant}, {"Dropout", import_dropout},
    {"Flatten", import_flatten}, {"Identity", import_identity}, {"Pad", import_pad},
    {"Reshape", import_reshape},
};

}  // namespace

std::span<const OperatorImporter> shape_importers() {
  return kShape;
}

}  // namespace lwsvm
