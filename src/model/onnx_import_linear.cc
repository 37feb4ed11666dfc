// Conv, Gemm, MatMul, BatchNormalization.
#include <algorithm>

#include "model/onnx_import.h"
#include "model/onnx_momentum.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"

namespace lwsvm {
namespace {

void scale(std::vector<float>& values, float factor) {
  if (factor == 1.0f) return;
  for (float& value : values) value *= factor;
}

void import_conv(NodeImport& node) {
  node.expect_inputs(2, 3);
  const Shape& image = node.shape(0);
  Constant weights = node.reals(1);
  const Shape& dims = weights.dims;
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
  parameters.emplace_back("weight", std::move(weights.reals));
  if (spec.bias) parameters.emplace_back("bias", node.reals(2).reals);
  node.emit([&] { return std::make_shared<ConvolutionLayer>(spec); }, {node.tensor(0)}, parameters);
}

// [rows][columns] -> [columns][rows]
std::vector<float> transposed(const Constant& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.dims[0]),
             columns = static_cast<std::size_t>(matrix.dims[1]);
  std::vector<float> result(matrix.reals.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) result[c * rows + r] = matrix.reals[r * columns + c];
  return result;
}

Constant weight_matrix(const NodeImport& node) {
  Constant weights = node.reals(1);
  if (weights.dims.size() != 2 || weights.count() == 0)
    node.fail("its weights must be a matrix, not {}", to_string(weights.dims));
  return weights;
}

// y = alpha x W' + beta c; alpha and beta go into the weights.
void import_gemm(NodeImport& node) {
  node.expect_inputs(2, 3);
  if (node.integer("transA", 0) != 0)
    node.fail("Gemm with transA is not supported: it would transpose the batch");
  const bool out_first = node.integer("transB", 0) != 0;
  Constant weights = weight_matrix(node);
  const std::int64_t out = weights.dims[out_first ? 0 : 1], in = weights.dims[out_first ? 1 : 0];
  std::vector<float> values = out_first ? std::move(weights.reals) : transposed(weights);
  scale(values, node.real("alpha", 1.0f));
  NodeImport::Parameters parameters;
  parameters.emplace_back("weight", std::move(values));
  const bool bias = node.has_input(2);
  if (bias) {
    std::vector<float> offsets = node.broadcast(2, {out});
    offsets.resize(static_cast<std::size_t>(out), offsets[0]);
    scale(offsets, node.real("beta", 1.0f));
    parameters.emplace_back("bias", std::move(offsets));
  }
  node.emit([&] { return std::make_shared<DenseLayer>(in, out, bias); }, {node.tensor(0)}, parameters);
}

void import_matmul(NodeImport& node) {
  node.expect_inputs(2, 2);
  if (node.is_constant(0)) node.fail("MatMul is supported as x W with constant W, not as W x");
  const Constant weights = weight_matrix(node);
  (void)node.tensor(0);
  if (node.completed_by("Add")) return node.defer();
  node.emit([&] { return std::make_shared<DenseLayer>(weights.dims[0], weights.dims[1], false); },
            {node.tensor(0)}, {{"weight", transposed(weights)}});
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
  for (int i = 0; i < 4; ++i) parameters.emplace_back(names[i], node.reals(i + 1).reals);
  const auto channels = static_cast<std::int64_t>(parameters[0].second.size());
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
  std::vector<float> bias = sum.broadcast(bias_input, {weights.dims[1]});
  bias.resize(static_cast<std::size_t>(weights.dims[1]), bias[0]);
  product.emit([&] { return std::make_shared<DenseLayer>(weights.dims[0], weights.dims[1], true); },
               {product.tensor(0)}, {{"weight", transposed(weights)}, {"bias", std::move(bias)}});
  sum.pass_on(1 - bias_input);
}

std::span<const OperatorImporter> linear_importers() {
  return kTable;
}

}  // namespace lwsvm
