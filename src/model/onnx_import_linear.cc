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

Constant weight_matrix(const NodeImport& node, int i) {
  Constant weights = node.reals(i);
  if (weights.dims.size() != 2 || weights.count() == 0)
    node.fail("its weights must be a matrix, not {}", to_string(weights.dims));
  return weights;
}

// A product with a matrix, from either side: of the two operands one is x, a vector for each sample. As x W
// the samples are its rows, as W x its columns; a transpose exchanges the two.
struct MatrixProduct {
  int x = 0;           // which operand
  int batch_axis = 0;  // of the product
  std::int64_t out = 0, in = 0;
  Constant weights;  // [out][in]

  MatrixProduct(const NodeImport& node, bool transpose_first, bool transpose_second) {
    x = node.is_constant(0) ? 1 : 0;
    const bool transposed_x = x == 0 ? transpose_first : transpose_second;
    const bool out_first = x == 0 ? transpose_second : !transpose_first;
    const bool rows = (x == 0) != transposed_x;
    const int batch = node.batch_axis(x);
    if (node.shape(x).size() != 1 || (batch >= 0 && batch != (rows ? 0 : 1)))
      node.fail(
          "{} of {} with a matrix is supported for a vector a sample only, and must leave the batch apart",
          node.op(), to_string(node.shape(x)));
    batch_axis = batch < 0 ? -1 : x;
    weights = weight_matrix(node, 1 - x);
    if (!out_first) weights = transposed(weights, {1, 0});
    out = weights.dims[0], in = weights.dims[1];
  }

  // One number for every output, from a constant that may be broadcast.
  Constant bias(const NodeImport& node, int i) const {
    Constant values = node.spread(i, {out}, batch_axis);
    if (values.count() == 1)
      values = rearranged(values, {out}, std::vector<std::int32_t>(static_cast<std::size_t>(out)));
    return values;
  }
};

// y = alpha x W' + beta c; alpha and beta go into the weights.
void import_gemm(NodeImport& node) {
  node.expect_inputs(2, 3);
  MatrixProduct product(node, node.integer("transA", 0) != 0, node.integer("transB", 0) != 0);
  const bool bias = node.has_input(2);
  NodeImport::Parameters parameters;
  parameters.emplace_back("weight", scaled(std::move(product.weights), node.real("alpha", 1.0f)));
  if (bias) parameters.emplace_back("bias", scaled(product.bias(node, 2), node.real("beta", 1.0f)));
  node.emit([&] { return std::make_shared<DenseLayer>(product.in, product.out, bias); },
            {node.tensor(product.x)}, parameters, product.batch_axis);
}

void import_matmul(NodeImport& node) {
  node.expect_inputs(2, 2);
  if (!node.is_constant(0) && !node.is_constant(1))
    node.fail(
        "MatMul of two computed values is not piecewise linear, and not supported; one must be weights");
  MatrixProduct product(node, false, false);
  if (node.completed_by("Add")) return node.defer();
  node.emit([&] { return std::make_shared<DenseLayer>(product.in, product.out, false); },
            {node.tensor(product.x)}, {{"weight", std::move(product.weights)}}, product.batch_axis);
}

// Up to opset 13 the outputs tell, mean and variance of the batch beside the result (opset 6 and older may
// take that back by is_test); then an attribute.
bool trains_batch_norm(const NodeImport& node) {
  if (node.opset() >= 14) return node.integer("training_mode", 0) != 0;
  if (node.integer("is_test", 0) != 0) return false;
  for (int k = 1; k < node.outputs(); ++k)
    if (node.has_output(k)) return true;
  return false;
}

void import_batch_norm(NodeImport& node) {
  node.expect_inputs(5, 5);
  node.expect_batch_first(0);
  if (trains_batch_norm(node)) node.fail("it is in training mode; export the model for inference");
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

constexpr OperatorImporter kLinear[] = {
    {"BatchNormalization", import_batch_norm},
    {"Conv", import_conv},
    {"Gemm", import_gemm},
    {"MatMul", import_matmul},
};

}  // namespace

void complete_matmul(NodeImport& node, NodeImport& sum, int bias_input) {
  MatrixProduct product(node, false, false);
  Constant bias = product.bias(sum, bias_input);
  node.emit([&] { return std::make_shared<DenseLayer>(product.in, product.out, true); },
            {node.tensor(product.x)}, {{"weight", std::move(product.weights)}, {"bias", std::move(bias)}},
            product.batch_axis);
  sum.pass_on(1 - bias_input);
}

std::span<const OperatorImporter> linear_importers() {
  return kLinear;
}

}  // namespace lwsvm
