// Relu, LeakyRelu, PRelu, Clip, Abs, HardSigmoid; Sigmoid, Tanh, Log, HardSwish, LRN.
//
//   HardSigmoid(x) = clip(alpha x + beta, 0, 1);   HardSwish(x) = x HardSigmoid(x) with 1/6 and 1/2
#include <limits>

#include "model/onnx_import.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/smooth_layers.h"

namespace lwsvm {
namespace {

void import_relu(NodeImport& node) {
  node.emit([] { return std::make_shared<ReluLayer>(); }, {node.tensor(0)});
}

void import_leaky_relu(NodeImport& node) {
  const float slope = node.real("alpha", 0.01f);
  node.emit([&] { return std::make_shared<LeakyReluLayer>(slope); }, {node.tensor(0)});
}

void import_abs(NodeImport& node) {
  node.emit([] { return std::make_shared<AbsLayer>(); }, {node.tensor(0)});
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A slope for every element (Keras) is not trained: relu(x) - slope relu(-x).
void import_elementwise_prelu(NodeImport& node, std::vector<float> slopes) {
  const auto relu = [] { return std::make_shared<ReluLayer>(); };
  for (float& slope : slopes) slope = -slope;
  const int above = node.add(relu, {node.tensor(0)});
  const int below = node.add(relu, {add_affine(node, node.tensor(0), {-1.0f}, {0.0f})});
  const int bent = add_affine(node, below, std::move(slopes), {0.0f});
  node.emit([] { return std::make_shared<AddLayer>(); }, {above, bent});
}

void import_prelu(NodeImport& node) {
  node.expect_inputs(2, 2);
  const Shape sample = node.shape(0);
  const auto channels = static_cast<std::size_t>(sample[0]);
  Constant slopes = node.reals(1);
  // Up to opset 6 a list of slopes is one per channel, then it is broadcast.
  if (node.opset() >= 7 || slopes.count() != channels) slopes = node.spread(1, sample, node.batch_axis(0));
  const auto count = static_cast<std::int64_t>(slopes.count());
  const bool per_channel =
      (count == 1 || slopes.count() == channels) && (sample.size() == 1 || sample.size() == 3);
  if (!per_channel) return import_elementwise_prelu(node, std::move(slopes.reals));
  node.emit([&] { return std::make_shared<PReluLayer>(count); }, {node.tensor(0)},
            {{"slope", std::move(slopes)}});
}

// Up to opset 10 the bounds are attributes, then optional inputs. The largest float is how exporters spell
// "no bound".
void import_clip(NodeImport& node) {
  node.expect_inputs(1, 3);
  float low = node.real("min", -kInfinity), high = node.real("max", kInfinity);
  if (node.has_input(1)) low = node.real(1);
  if (node.has_input(2)) high = node.real(2);
  if (low == std::numeric_limits<float>::lowest()) low = -kInfinity;
  if (high == std::numeric_limits<float>::max()) high = kInfinity;
  node.emit([&] { return std::make_shared<ClipLayer>(low, high); }, {node.tensor(0)});
}

int add_hard_sigmoid(NodeImport& node, float slope, float offset) {
  const int line = add_affine(node, node.tensor(0), {slope}, {offset});
  return node.add([] { return std::make_shared<ClipLayer>(0.0f, 1.0f); }, {line});
}

void import_hard_sigmoid(NodeImport& node) {
  const int clipped = add_hard_sigmoid(node, node.real("alpha", 0.2f), node.real("beta", 0.5f));
  node.emit_node(clipped, node.batch_axis(0));
}

void import_hard_swish(NodeImport& node) {
  const int gate = add_hard_sigmoid(node, 1.0f / 6.0f, 0.5f);
  node.emit([] { return std::make_shared<ProductLayer>(); }, {node.tensor(0), gate});
}

void import_sigmoid(NodeImport& node) {
  node.emit([] { return std::make_shared<SigmoidLayer>(); }, {node.tensor(0)});
}

void import_log(NodeImport& node) {
  node.emit([] { return std::make_shared<LogLayer>(); }, {node.tensor(0)});
}

void import_tanh(NodeImport& node) {
  node.emit([] { return std::make_shared<TanhLayer>(); }, {node.tensor(0)});
}

void import_lrn(NodeImport& node) {
  node.expect_batch_first(0);
  const std::int64_t size = node.integer("size", 0);
  const float alpha = node.real("alpha", 1e-4f), beta = node.real("beta", 0.75f),
              bias = node.real("bias", 1.0f);
  if (size < 1 || size > kLargestAttribute) node.fail("its attribute 'size' has the value {}", size);
  node.emit([&] { return std::make_shared<ResponseNormLayer>(size, alpha, beta, bias); }, {node.tensor(0)});
}

constexpr OperatorImporter kActivations[] = {
    {"Abs", import_abs},
    {"Clip", import_clip},
    {"HardSigmoid", import_hard_sigmoid},
    {"HardSwish", import_hard_swish},
    {"LRN", import_lrn},
    {"LeakyRelu", import_leaky_relu},
    {"Log", import_log},
    {"PRelu", import_prelu},
    {"Relu", import_relu},
    {"Sigmoid", import_sigmoid},
    {"Tanh", import_tanh},
};

}  // namespace

std::span<const OperatorImporter> activation_importers() {
  return kActivations;
}

}  // namespace lwsvm
