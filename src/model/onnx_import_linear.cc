// Conv, Gemm, MatMul, BatchNormalization.
#include <algorithm>

#include "model/onnx_import.h"
#include "model/onnx_momentum.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"

namespace lwsvm {
namespace {

void import_conv(NodeImport& node) {
  node.expect_inputs(2, 3);
  const Shape& image = node.shape(0);
  Constant weights = node.reals(1);
  const Shape dims = weights.dims;
  if (dims.size() != 4 || image.size() != 3)
    node.fail("only convolutions of images are supported, not weights {} on {}", to_string(dims),
              to_string(image));
  if (weights.count() == 0) node.fail("its weights {} are empty", to_string(dims));
  ConvolutionSpec spec;
  spec.groups = node.integer("group", 1);
  if (spec.groups < 1 || spec.groups > kLargestValue) node.fail("it cannot have {} groups", spec.groups);
  spec.out_channels = dims[0];
  spec.in_channels = dims[1] * spec.groups;
  spec.window = read_window(node, image, {dims[2], dims[3]});
  spec.bias = node.has_input(2);
  NodeImport::Parameters parameters;
  parameters.emplace_back("weight", std::move(weights));
  if (spec.bias) parameters.emplace_back("bias", node.reals(2));
  node.emit([&] { return std::make_shared<ConvolutionLayer>(spec); }, {node.tensor(0)}, parameters);
}

Constant weight_matrix(const NodeImport& node) {
  Constant weights = node.reals(1);
  if (weights.dims.size() != 2 || weights.count() == 0)
    node.fail("its weights must be a matrix, not {}", to_string(weights.dims));
  return weights;
}

// One number for every output, from a constant that may be broadcast.
Constant bias_vector(const NodeImport& node, int input, std::int64_t outputs) {
  Constant bias = node.spread(input, {outputs});
  if (bias.count() == 1)
    bias = rearranged(bias, {outputs}, std::vector<std::int32_t>(static_cast<std::size_t>(outputs)));
  return bias;
}

// y = alpha x W' + beta c; alpha and beta go into the weights.
void import_gemm(NodeImport& node) {
  node.expect_inputs(2, 3);
  if (node.integer("transA", 0) != 0)
    node.fail("Gemm with transA is not supported: it would transpose the batch");
  const bool out_first = node.integer("transB", 0) != 0;
  Constant weights = weight_matrix(node);
  const std::int64_t out = weights.dims[out_first ? 0 : 1], in = weights.dims[out_first ? 1 : 0];
  if (!out_first) weights = transposed(weights, {1, 0});
  NodeImport::Parameters parameters;
  parameters.emplace_back("weight", scaled(std::move(weights), node.real("alpha", 1.0f)));
  const bool bias = node.has_input(2);
  if (bias) parameters.emplace_back("bias", scaled(bias_vector(node, 2, out), node.real("beta", 1.0f)));
  node.emit([&] { return std::make_shared<DenseLayer>(in, out, bias); }, {node.tensor(0)}, parameters);
}

void import_matmul(NodeImport& node) {
  node.expect_inputs(2, 2);
  if (node.is_constant(0)) node.fail("MatMul is supported as x W with constant W, not as W x");
  const Constant weights = weight_matrix(node);
  (void)node.tensor(0);
  if (node.completed_by("Add")) return node.defer();
  node.emit([&] { return std::make_shared<DenseLayer>(weights.dims[0], weights.dims[1], false); },
            {node.tensor(0)}, {{"weight", transposed(weights, {1, 0})}});
}

void import_batch_norm(NodeImport& node) {
  node.expect_inputs(5, 5);
  if (node.integer("training_mode", 0) != 0)
    node.fail("it is in training mode; export the model for inference");
  if (node.integer("spatial", 1) == 0) node.fail("BatchNormalization with spatial = 0 is not supported");
  const float epsilon = node.real("epsilon", 1e-5f);
  const float momentum = one_minus_momentum(node.real("momentum", 0.9f));
  NodeImport::Parameters parameters;
  const char* names[] = {"scale", "shift", "mean", "variance"};
  for (int i = 0; i < 4; ++i) parameters.emplace_back(names[i], node.reals(i + 1));
  const auto channels = static_cast<std::int64_t>(parameters[0].second.count());
  node.emit([&] { return std::make_shared<BatchNormLayer>(channels, epsilon, momentum); }, {node.tensor(0)},
            parameters);
}

constexpr OperatorImporter kTable[] = {
    {"BatchNormalization", import_batch_norm},
    {"Conv", import_conv},
    {"Gemm", import_gemm},
    {"MatMul", import_matmul},
};

}  // namespace

void complete_matmul(NodeImport& product, NodeImport& sum, int bias_input) {
  const Constant weights = weight_matrix(product);
  product.emit(
      [&] { return std::make_shared<DenseLayer>(weights.dims[0], weights.dims[1], true); },
      {product.tensor(0)},
      {{"weight", transposed(weights, {1, 0})}, {"bias", bias_vector(sum, bias_input, weights.dims[1])}});
  sum.pass_on(1 - bias_input);
}

std::span<const OperatorImporter> linear_importers() {
  return kTable;
}

}  // namespace lwsvm
