// Relu, LeakyRelu, PRelu, Clip, Abs, Softmax.
#include <limits>

#include "model/onnx_import.h"
#include "net/layers/activations.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/softmax_layer.h"

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

void import_prelu(NodeImport& node) {
  node.expect_inputs(2, 2);
  const Shape& sample = node.shape(0);
  Constant slopes = node.spread(1, sample);
  const auto count = static_cast<std::int64_t>(slopes.count());
  if (count != 1 && count != sample[0])
    node.fail("PRelu with a slope for every element is not supported, only for every channel");
  node.emit([&] { return std::make_shared<PReluLayer>(count); }, {node.tensor(0)},
            {{"slope", std::move(slopes)}});
}

// Up to opset 10 the bounds are attributes, then optional inputs.
void import_clip(NodeImport& node) {
  node.expect_inputs(1, 3);
  float low = node.real("min", std::numeric_limits<float>::lowest());
  float high = node.real("max", std::numeric_limits<float>::max());
  if (node.has_input(1)) low = node.real(1);
  if (node.has_input(2)) high = node.real(2);
  node.emit([&] { return std::make_shared<ClipLayer>(low, high); }, {node.tensor(0)});
}

void import_softmax(NodeImport& node) {
  const auto rank = static_cast<std::int64_t>(node.shape(0).size()) + 1;
  std::int64_t axis = node.integer("axis", node.opset() >= 13 ? -1 : 1);
  if (axis < 0) axis += rank;
  if (rank != 2 || axis != 1)
    node.fail("Softmax is supported over the scores of a sample only, not over {}", to_string(node.shape(0)));
  node.emit([] { return std::make_shared<SoftmaxLayer>(); }, {node.tensor(0)});
}

constexpr OperatorImporter kTable[] = {
    {"Abs", import_abs},     {"Clip", import_clip}, {"LeakyRelu", import_leaky_relu},
    {"PRelu", import_prelu}, {"Relu", import_relu}, {"Softmax", import_softmax},
};

}  // namespace

std::span<const OperatorImporter> activation_importers() {
  return kTable;
}

}  // namespace lwsvm
