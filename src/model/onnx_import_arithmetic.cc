// Add, Sub, Mul, Div, Sum, Neg, Max, Min, Concat: of values, and with constants.
//
//   Sub then Div by constants -> one Normalize layer;   Mul then Add -> one Affine layer;
//   a single operation by a constant -> an Affine layer (or Normalize for x / c, which rounds as the file
//   does).
#include <algorithm>

#include "model/onnx_import.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/maximum_layer.h"

namespace lwsvm {
namespace {

void emit_affine(NodeImport& node, int input, std::vector<float> scale, std::vector<float> offset) {
  node.emit([&] { return std::make_shared<AffineLayer>(std::move(scale), std::move(offset)); }, {input});
}

// Which of the two operands is a constant; -1 if none.
int constant_operand(NodeImport& node) {
  node.expect_inputs(2, 2);
  if (node.is_constant(0) && node.is_constant(1))
    node.fail("{} of two constants is not supported", node.op());
  return node.is_constant(0) ? 0 : node.is_constant(1) ? 1 : -1;
}

void negate(std::vector<float>& values) {
  for (float& value : values) value = -value;
}

void import_add(NodeImport& node) {
  const int constant = constant_operand(node);
  if (constant < 0) return node.emit([] { return std::make_shared<AddLayer>(); }, node.tensors());
  if (auto product = node.deferred(1 - constant, "MatMul")) return complete_matmul(*product, node, constant);
  if (auto scaled = node.deferred(1 - constant, "Mul")) {
    const int factor = scaled->is_constant(0) ? 0 : 1;
    const int input = scaled->tensor(1 - factor);
    const Shape& sample = scaled->shape(1 - factor);
    return emit_affine(node, input, scaled->broadcast(factor, sample), node.broadcast(constant, sample));
  }
  const int input = node.tensor(1 - constant);
  emit_affine(node, input, {1.0f}, node.broadcast(constant, node.shape(1 - constant)));
}

void import_sub(NodeImport& node) {
  const int constant = constant_operand(node);
  if (constant < 0) return node.emit([] { return std::make_shared<SubtractLayer>(); }, node.tensors());
  if (constant == 1 && node.completed_by("Div")) return node.defer();
  const int input = node.tensor(1 - constant);
  std::vector<float> offset = node.broadcast(constant, node.shape(1 - constant));
  if (constant == 1) negate(offset);  // x - c is x + (-c), to the bit
  emit_affine(node, input, {constant == 1 ? 1.0f : -1.0f}, std::move(offset));
}

void import_mul(NodeImport& node) {
  const int constant = constant_operand(node);
  if (constant < 0)
    node.fail("the product of two computed values is not piecewise linear, and not supported");
  if (node.completed_by("Add")) return node.defer();
  emit_affine(node, node.tensor(1 - constant), node.broadcast(constant, node.shape(1 - constant)), {0.0f});
}

void import_div(NodeImport& node) {
  if (constant_operand(node) != 1)
    node.fail("only division by a constant is supported: anything else is not piecewise linear");
  std::vector<float> mean{0.0f};
  int input = -1;
  Shape sample;
  if (auto difference = node.deferred(0, "Sub")) {
    input = difference->tensor(0);
    sample = difference->shape(0);
    mean = difference->broadcast(1, sample);
  } else {
    input = node.tensor(0);
    sample = node.shape(0);
  }
  std::vector<float> deviation = node.broadcast(1, sample);
  node.emit([&] { return std::make_shared<NormalizeLayer>(std::move(mean), std::move(deviation)); }, {input});
}

void import_sum(NodeImport& node) {
  node.emit([] { return std::make_shared<AddLayer>(); }, node.tensors());
}

void import_neg(NodeImport& node) {
  emit_affine(node, node.tensor(0), {-1.0f}, {0.0f});
}

void import_maximum(NodeImport& node) {
  node.emit([&] { return std::make_shared<MaximumLayer>(node.op() == "Min"); }, node.tensors());
}

void import_concat(NodeImport& node) {
  node.expect_inputs(1, 1 << 20);
  const auto rank = static_cast<std::int64_t>(node.shape(0).size()) + 1;
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 1 || axis >= rank)
    node.fail("Concat along axis {} is not supported: the batch stays whole", axis);
  node.emit([&] { return std::make_shared<ConcatLayer>(axis - 1); }, node.tensors());
}

constexpr OperatorImporter kTable[] = {
    {"Add", import_add},     {"Concat", import_concat}, {"Div", import_div},
    {"Max", import_maximum}, {"Min", import_maximum},   {"Mul", import_mul},
    {"Neg", import_neg},     {"Sub", import_sub},       {"Sum", import_sum},
};

}  // namespace

std::span<const OperatorImporter> arithmetic_importers() {
  return kTable;
}

}  // namespace lwsvm
