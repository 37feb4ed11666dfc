// Add, Sub, Mul, Div, Sum, Neg, Max, Min: of values, and with constants.
//
//   Sub then Div by constants -> one Normalize layer;   Mul then Add -> one Affine layer;
//   a single operation by a constant -> an Affine layer (or Normalize for x / c, which rounds as the file
//   does);
//   max(x, c) -> Clip, or with several c  relu(x - c) + c;   min(x, c) = -max(-x, -c).
#include <algorithm>
#include <limits>

#include "model/onnx_import.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/frozen_layers.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/smooth_layers.h"

namespace lwsvm {

int add_affine(NodeImport& node, int value, std::vector<float> scale, std::vector<float> offset) {
  return node.add([&] { return std::make_shared<AffineLayer>(std::move(scale), std::move(offset)); },
                  {value});
}

namespace {

// A computed operand and the constants that go with it.
struct Operand {
  int value = -1;
  Shape sample;
  int batch_axis = 0;

  Operand(const NodeImport& node, int i)
      : value(node.tensor(i)), sample(node.shape(i)), batch_axis(node.batch_axis(i)) {}
  std::vector<float> constant(const NodeImport& node, int i) const {
    return node.broadcast(i, sample, batch_axis);
  }
};

void emit_affine(NodeImport& node, const Operand& x, std::vector<float> scale, std::vector<float> offset) {
  node.emit_node(add_affine(node, x.value, std::move(scale), std::move(offset)), x.batch_axis);
}

// Which of the two operands is a constant; -1 if none.
int constant_operand(NodeImport& node) {
  node.expect_inputs(2, 2);
  return node.is_constant(0) ? 0 : node.is_constant(1) ? 1 : -1;
}

// The computed inputs, broadcast to one another: axes are counted from the last, and those of 1 are repeated.
std::vector<int> computed_inputs(NodeImport& node) {
  std::vector<int> which;
  std::int64_t rank = 0;
  for (int i = 0; i < node.inputs(); ++i) {
    if (node.is_constant(i)) continue;
    which.push_back(i);
    rank = std::max(rank, node.rank(i));
  }
  std::vector<Shape> samples;  // with as many axes
  Shape result;
  for (int i : which) {
    Shape sample = node.shape(i);
    const std::int64_t missing = rank - node.rank(i);
    const auto batch_from_end = [&](int k) {
      return node.batch_axis(k) < 0 ? -1 : node.rank(k) - node.batch_axis(k);
    };
    bool fits = batch_from_end(i) == batch_from_end(which[0]) && (missing == 0 || node.batch_axis(i) < 0);
    sample.insert(sample.begin(), static_cast<std::size_t>(missing), 1);
    if (result.empty()) result = sample;
    for (std::size_t k = 0; fits && k < sample.size(); ++k) {
      fits = sample[k] == result[k] || sample[k] == 1 || result[k] == 1;
      result[k] = std::max(result[k], sample[k]);
    }
    if (!fits)
      node.fail("{} of computed values of shapes {} and {} is not supported: they do not fit together",
                node.op(), to_string(node.shape(which[0])), to_string(node.shape(i)));
    samples.push_back(std::move(sample));
  }
  std::vector<int> values;
  for (std::size_t k = 0; k < which.size(); ++k)
    values.push_back(add_repeated(node, node.tensor(which[k]), node.shape(which[k]), samples[k], result));
  return values;
}

void negate(std::vector<float>& values) {
  for (float& value : values) value = -value;
}

void import_add(NodeImport& node) {
  const int constant = constant_operand(node);
  if (constant < 0) return node.emit([] { return std::make_shared<AddLayer>(); }, computed_inputs(node));
  if (auto product = node.deferred(1 - constant, "MatMul")) return complete_matmul(*product, node, constant);
  if (auto scaled = node.deferred(1 - constant, "Mul")) {
    const int factor = scaled->is_constant(0) ? 0 : 1;
    const Operand x(*scaled, 1 - factor);
    return emit_affine(node, x, x.constant(*scaled, factor), x.constant(node, constant));
  }
  const Operand x(node, 1 - constant);
  emit_affine(node, x, {1.0f}, x.constant(node, constant));
}

void import_sub(NodeImport& node) {
  const int constant = constant_operand(node);
  if (constant < 0) return node.emit([] { return std::make_shared<SubtractLayer>(); }, computed_inputs(node));
  if (constant == 1 && node.completed_by("Div")) return node.defer();
  const Operand x(node, 1 - constant);
  std::vector<float> offset = x.constant(node, constant);
  if (constant == 1) negate(offset);  // x - c is x + (-c), to the bit
  emit_affine(node, x, {constant == 1 ? 1.0f : -1.0f}, std::move(offset));
}

void import_mul(NodeImport& node) {
  const int constant = constant_operand(node);
  if (constant < 0) return node.emit([] { return std::make_shared<ProductLayer>(); }, computed_inputs(node));
  if (node.completed_by("Add")) return node.defer();
  const Operand x(node, 1 - constant);
  emit_affine(node, x, x.constant(node, constant), {0.0f});
}

void import_div(NodeImport& node) {
  const int constant = constant_operand(node);
  if (constant < 0) return node.emit([] { return std::make_shared<QuotientLayer>(); }, computed_inputs(node));
  if (constant == 0) {  // c / x
    Operand x(node, 1);
    const std::vector<float> factor = x.constant(node, 0);
    x.value = node.add([] { return std::make_shared<FunctionLayer>(Function::reciprocal); }, {x.value});
    return emit_affine(node, x, factor, {0.0f});
  }
  const auto difference = node.deferred(0, "Sub");
  const Operand x(difference ? *difference : node, 0);
  std::vector<float> mean = difference ? x.constant(*difference, 1) : std::vector<float>{0.0f};
  std::vector<float> deviation = x.constant(node, 1);
  const int added = node.add(
      [&] { return std::make_shared<NormalizeLayer>(std::move(mean), std::move(deviation)); }, {x.value});
  node.emit_node(added, x.batch_axis);
}

void import_neg(NodeImport& node) {
  emit_affine(node, Operand(node, 0), {-1.0f}, {0.0f});
}

// Joins the computed inputs into one, then the constants one after the other.
template <typename Join, typename Bend>
void import_many(NodeImport& node, const Join& join, const Bend& bend) {
  const std::vector<int> values = computed_inputs(node);
  if (static_cast<int>(values.size()) == node.inputs()) return node.emit(join, values);
  int first = 0;
  while (node.is_constant(first)) ++first;
  Operand x(node, first);
  x.value = values.size() > 1 ? node.add(join, values) : values[0];
  x.sample = node.shape_of(x.value);
  for (int i = 0; i < node.inputs(); ++i)
    if (node.is_constant(i)) x.value = bend(x.value, x.constant(node, i));
  node.emit_node(x.value, x.batch_axis);
}

void import_sum(NodeImport& node) {
  import_many(
      node, [] { return std::make_shared<AddLayer>(); },
      [&](int value, std::vector<float> constant) {
        return add_affine(node, value, {1.0f}, std::move(constant));
      });
}

int add_bound(NodeImport& node, int value, std::vector<float> bound, bool minimum) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (bound.size() == 1) {
    const float low = minimum ? -infinity : bound[0], high = minimum ? bound[0] : infinity;
    return node.add([&] { return std::make_shared<ClipLayer>(low, high); }, {value});
  }
  const float sign = minimum ? -1.0f : 1.0f;
  std::vector<float> shift = bound;
  if (!minimum) negate(shift);
  const int above = add_affine(node, value, {sign}, std::move(shift));  // x - c, or c - x
  const int relu = node.add([] { return std::make_shared<ReluLayer>(); }, {above});
  return add_affine(node, relu, {sign}, std::move(bound));
}

void import_maximum(NodeImport& node) {
  const bool minimum = node.op() == "Min";
  import_many(
      node, [&] { return std::make_shared<MaximumLayer>(minimum); },
      [&](int value, std::vector<float> constant) {
        return add_bound(node, value, std::move(constant), minimum);
      });
}

constexpr OperatorImporter kArithmetic[] = {
    {"Add", import_add}, {"Div", import_div}, {"Max", import_maximum}, {"Min", import_maximum},
    {"Mul", import_mul}, {"Neg", import_neg}, {"Sub", import_sub},     {"Sum", import_sum},
};

}  // namespace

std::span<const OperatorImporter> arithmetic_importers() {
  return kArithmetic;
}

}  // namespace lwsvm
