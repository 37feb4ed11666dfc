// What lies in front of the layers that are refined, in networks of other programs: Elu, Selu, Celu,
// Softplus, Softsign, Erf, Gelu, Exp, Sqrt, Pow, Reciprocal, ThresholdedRelu; LayerNormalization,
// InstanceNormalization.
#include <algorithm>

#include "model/onnx_import.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/frozen_layers.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

void emit_function(NodeImport& node, Function function, float a = 1, float b = 1) {
  node.expect_inputs(1, 1);
  node.emit([&] { return std::make_shared<FunctionLayer>(function, a, b); }, {node.tensor(0)});
}

template <Function function>
void import_function(NodeImport& node) {
  emit_function(node, function);
}

template <Function function>
void import_with_alpha(NodeImport& node) {
  emit_function(node, function, node.real("alpha", 1.0f));
}

void import_selu(NodeImport& node) {  // up to opset 5 the constants have fewer digits
  const bool old = node.opset() < 6;
  emit_function(node, Function::selu, node.real("alpha", old ? 1.6732f : 1.67326319217681884765625f),
                node.real("gamma", old ? 1.0507f : 1.05070102214813232421875f));
}

void import_gelu(NodeImport& node) {
  const std::string how = node.text("approximate", "none");
  if (how != "none" && how != "tanh")
    node.fail("Gelu is supported with approximate none or tanh, not '{}'", how);
  emit_function(node, how == "tanh" ? Function::gelu_tanh : Function::gelu);
}

void import_power(NodeImport& node) {
  node.expect_inputs(2, 2);
  if (!node.is_constant(1) || node.constant(1).count() != 1)
    node.fail("Pow is supported with one number as its exponent, not with a computed one");
  const Constant exponent = node.constant(1);
  const float a = exponent.integral ? static_cast<float>(exponent.integers[0]) : exponent.reals[0];
  node.emit([&] { return std::make_shared<FunctionLayer>(Function::power, a); }, {node.tensor(0)});
}

// rows x size, standardised row by row, in the shape that it had.
int add_standardized(NodeImport& node, std::int64_t size, float epsilon) {
  const Shape sample = node.shape(0);
  const Shape rows{element_count(sample) / size, size};
  const int matrix =
      node.add([&] { return std::make_shared<ReshapeLayer>(rows); }, {node.tensor(0)}, {}, "/rows");
  const int standard = node.add([&] { return std::make_shared<StandardizeLayer>(epsilon); }, {matrix});
  return node.add([&] { return std::make_shared<ReshapeLayer>(sample); }, {standard}, {}, "/back");
}

void import_layer_norm(NodeImport& node) {
  node.expect_inputs(2, 3);
  const Shape sample = node.shape(0);
  const std::size_t first = node.sample_axis(0, node.integer("axis", -1));
  if (static_cast<int>(first) < node.batch_axis(0))
    node.fail("LayerNormalization over the batch would mix its samples");
  const std::int64_t size =
      element_count({sample.begin() + static_cast<std::ptrdiff_t>(first), sample.end()});
  const int standard = add_standardized(node, size, node.real("epsilon", 1e-5f));
  std::vector<float> scale = node.broadcast(1, sample, node.batch_axis(0)), offset{0.0f};
  if (node.has_input(2)) offset = node.broadcast(2, sample, node.batch_axis(0));
  node.emit_node(add_affine(node, standard, std::move(scale), std::move(offset)), node.batch_axis(0));
}

void import_instance_norm(NodeImport& node) {
  node.expect_inputs(3, 3);
  node.expect_batch_first(0);
  const Shape sample = node.shape(0);
  if (sample.size() < 2) node.fail("InstanceNormalization is not supported on {}", to_string(sample));
  const int standard = add_standardized(node, element_count(sample) / sample[0], node.real("epsilon", 1e-5f));
  std::vector<float> scale = node.reals(1).reals, offset = node.reals(2).reals;
  for (const auto& values : {scale, offset})
    if (std::ssize(values) != sample[0])
      node.fail("its scale and bias must have {} values, one per channel, not {}", sample[0], values.size());
  node.emit_node(add_affine(node, standard, std::move(scale), std::move(offset)), 0);
}

constexpr OperatorImporter kFrozen[] = {
    {"Celu", import_with_alpha<Function::celu>},
    {"Elu", import_with_alpha<Function::elu>},
    {"Erf", import_function<Function::erf>},
    {"Exp", import_function<Function::exp>},
    {"Gelu", import_gelu},
    {"InstanceNormalization", import_instance_norm},
    {"LayerNormalization", import_layer_norm},
    {"Pow", import_power},
    {"Reciprocal", import_function<Function::reciprocal>},
    {"Selu", import_selu},
    {"Softplus", import_function<Function::softplus>},
    {"Softsign", import_function<Function::softsign>},
    {"Sqrt", import_function<Function::sqrt>},
    {"ThresholdedRelu", import_with_alpha<Function::thresholded_relu>},
};

}  // namespace

std::span<const OperatorImporter> frozen_importers() {
  return kFrozen;
}

}  // namespace lwsvm
