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

Constant weight_matrix(const NodeImport& node, int i) {
  Constant weights = node.reals(i);
  if (weights.dims.size() != 2 || weights.count() == 0)
    node.fail("its weights must be a matrix, not {}", to_string(weights.dims));
  return weights;
}

// A product with a matrix, from either side: of the two operands one is x, a vector for each sample. As x W
// the samples are its rows, as W x its columns; a transpose exchanges the two.
struct MatrixProduct {
  int x = 0;               // which operand
  bool out_first = false;  // W is [out][in]
  std::int64_t out = 0, in = 0;
  Constant weights;  // [out][in]

  MatrixProduct(const NodeImport& node, bool transpose_first, bool transpose_second) {
    x = node.is_constant(0) ? 1 : 0;
    const bool transposed_x = x == 0 ? transpose_first : transpose_second;
    out_first = x == 0 ? transpose_second : !transpose_first;
    const bool rows = (x == 0) != transposed_x;
    const int batch = node.batch_axis(x);
    if (node.shape(x).size() != 1 || (batch >= 0 && batch != (rows ? 0 : 1)))
      node.fail(
          "{} of {} with a matrix is supported for a vector a sample only, and must leave the batch apart",
          node.op(), to_string(node.shape(x)));
    weights = weight_matrix(node, 1 - x);
    out = weights.dims[out_first ? 0 : 1], in = weights.dims[out_first ? 1 : 0];
    if (!out_first) weights.reals = transposed(weights);
  }
  int batch_axis(const NodeImport& node) const { return node.batch_axis(x) < 0 ? -1 : x; }
  std::vector<float> bias(const NodeImport& node, const NodeImport& sum, int i) const {
    std::vector<float> values = sum.broadcast(i, {out}, batch_axis(node));
    values.resize(static_cast<std::size_t>(out), values[0]);
    return values;
  }
};

// y = alpha x W' + beta c; alpha and beta go into the weights.
void import_gemm(NodeImport& node) {
  node.expect_inputs(2, 3);
  MatrixProduct product(node, node.integer("transA", 0) != 0, node.integer("transB", 0) != 0);
  scale(product.weights.reals, node.real("alpha", 1.0f));
  const bool bias = node.has_input(2);
  NodeImport::Parameters parameters;
  parameters.emplace_back("weight", std::move(product.weights.reals));
  if (bias) {
    std::vector<float> offsets = product.bias(node, node, 2);
    scale(offsets, node.real("beta", 1.0f));
    parameters.emplace_back("bias", std::move(offsets));
  }
  node.emit([&] { return std::make_shared<DenseLayer>(product.in, product.out, bias); },
            {node.tensor(product.x)}, parameters, product.batch_axis(node));
}

void import_matmul(NodeImport& node) {
  node.expect_inputs(2, 2);
  if (!node.is_constant(0) && !node.is_constant(1))
    node.fail(
        "MatMul of two computed values is not piecewise linear, and not supported; one must be weights");
  MatrixProduct product(node, false, false);
  if (node.completed_by("Add")) return node.defer();
  node.emit([&] { return std::make_shared<DenseLayer>(product.in, product.out, false); },
            {node.tensor(product.x)}, {{"weight", std::move(product.weights.reals)}},
            product.batch_axis(node));
}

void import_batch_norm(NodeImport& node) {
  node.expect_inputs(5, 5);
  node.expect_batch_first(0);
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

void complete_matmul(NodeImport& node, NodeImport& sum, int bias_input) {
  MatrixProduct product(node, false, false);
  std::vector<float> bias = product.bias(node, sum, bias_input);
  node.emit(
      [&] { return std::make_shared<DenseLayer>(product.in, product.out, true); }, {node.tensor(product.x)},
      {{"weight", std::move(product.weights.reals)}, {"bias", std::move(bias)}}, product.batch_axis(node));
  sum.pass_on(1 - bias_input);
}

std::span<const OperatorImporter> linear_importers() {
  return kTable;
}

}  // namespace lwsvm
