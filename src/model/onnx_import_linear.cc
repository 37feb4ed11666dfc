// Conv, ConvTranspose, Gemm, MatMul, BatchNormalization.
#include <algorithm>

#include "model/onnx_import.h"
#include "model/onnx_momentum.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

std::int64_t read_groups(const NodeImport& node) {
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > kLargestValue) node.fail("it cannot have {} groups", groups);
  return groups;
}

// Weights of images, or of rows: then a window of one row.
Constant read_conv_weights(const NodeImport& node) {
  const Shape& sample = node.shape(0);
  Constant weights = node.reals(1);
  if ((sample.size() != 2 && sample.size() != 3) || weights.dims.size() != sample.size() + 1)
    node.fail("only convolutions of images and rows are supported, not weights {} on {}",
              to_string(weights.dims), to_string(sample));
  if (weights.count() == 0) node.fail("its weights {} are empty", to_string(weights.dims));
  return weights;
}

void emit_convolution(NodeImport& node, int image, ConvolutionSpec spec, Constant weights) {
  spec.bias = node.has_input(2);
  NodeImport::Parameters parameters;
  parameters.emplace_back("weight", std::move(weights));
  if (spec.bias) parameters.emplace_back("bias", node.reals(2));
  emit_from_image(node,
                  node.add([&] { return std::make_shared<ConvolutionLayer>(spec); }, {image}, parameters));
}

void import_conv(NodeImport& node) {
  node.expect_inputs(2, 3);
  Constant weights = read_conv_weights(node);
  ConvolutionSpec spec;
  spec.groups = read_groups(node);
  spec.out_channels = weights.dims[0];
  spec.in_channels = weights.dims[1] * spec.groups;
  spec.window = read_window(node, node.shape(0), {weights.dims.begin() + 2, weights.dims.end()});
  emit_convolution(node, add_as_image(node, 0), spec, std::move(weights));
}

// One axis of a transposed convolution: what is put between the elements and around them, so that a plain
// convolution with the taps in reverse follows.
struct Spread {
  std::int64_t stride, before, after;
};

// pads, output_shape, auto_pad: what is cut off the full result, `full` long.
std::pair<std::int64_t, std::int64_t> cut_of(const NodeImport& node, std::size_t axis, std::size_t axes,
                                             std::int64_t in, std::int64_t stride, std::int64_t full) {
  const std::vector<std::int64_t> pads = node.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
  const std::vector<std::int64_t> asked = node.integers("output_shape", {});
  const std::string automatic = node.text("auto_pad", "NOTSET");
  const bool same = automatic.starts_with("SAME_");
  if (asked.empty() && !same) {
    if (pads.size() != 2 * axes) node.fail("its attribute 'pads' has {} values", pads.size());
    return {pads[axis], pads[axes + axis]};
  }
  if (!asked.empty() && asked.size() < axes) node.fail("its output_shape has {} values", asked.size());
  const std::int64_t out = asked.empty() ? in * stride : asked[asked.size() - axes + axis];
  if (out < 1 || out > kLargestValue) node.fail("its output_shape has the value {}", out);
  const std::int64_t total = full - out, less = total / 2;
  if (total < 0) return {0, total};  // longer than it would be: zeros at the end
  return automatic == "SAME_UPPER" ? std::pair{less, total - less} : std::pair{total - less, less};
}

Spread read_spread(const NodeImport& node, std::size_t axis, std::size_t axes, std::int64_t in,
                   std::int64_t taps) {
  const auto value = [&](const char* name, std::int64_t otherwise, std::int64_t min) {
    const auto list = node.integers(name, std::vector<std::int64_t>(axes, otherwise));
    if (list.size() != axes) node.fail("its attribute '{}' has {} values, not {}", name, list.size(), axes);
    if (list[axis] < min || list[axis] > kLargestAttribute)
      node.fail("its attribute '{}' has the value {}", name, list[axis]);
    return list[axis];
  };
  const std::int64_t stride = value("strides", 1, 1), dilation = value("dilations", 1, 1);
  const std::int64_t reach = dilation * (taps - 1), extra = value("output_padding", 0, 0);
  const auto [low, high] = cut_of(node, axis, axes, in, stride, stride * (in - 1) + reach + 1 + extra);
  if (low < 0 || high < -kLargestAttribute || low > kLargestAttribute || high > kLargestAttribute)
    node.fail("its pads {} and {} are not possible", low, high);
  // After the last element there are stride - 1 zeros too many.
  return {stride, reach - low, reach - high + extra - (stride - 1)};
}

// The elements of a row or an image, `stride` apart with zeros between them, padded or cropped.
int add_spread(NodeImport& node, int image, const Spread& rows, const Spread& columns) {
  const Shape in = node.shape_of(image);
  if (rows.stride > 1 || columns.stride > 1) {
    const Shape apart{in[0], in[1], 1, in[2], 1}, none(5, 0),
        zeros{0, 0, rows.stride - 1, 0, columns.stride - 1};
    const Shape wide{in[0], in[1] * rows.stride, in[2] * columns.stride};
    if (!checked_count(wide, kLargestValue)) node.fail("its strides make {} of an image", to_string(wide));
    image = node.add([&] { return std::make_shared<ReshapeLayer>(apart); }, {image}, {}, "/apart");
    image = node.add([&] { return std::make_shared<PadLayer>(none, zeros, 0.0f); }, {image}, {}, "/zeros");
    image = node.add([&] { return std::make_shared<ReshapeLayer>(wide); }, {image}, {}, "/wide");
  }
  const Shape before{0, rows.before, columns.before}, after{0, rows.after, columns.after};
  const Shape now = node.shape_of(image);
  for (std::size_t k = 1; k < 3; ++k)
    if (now[k] + before[k] + after[k] < 1) node.fail("its pads leave nothing of {}", to_string(in));
  return node.add([&] { return std::make_shared<PadLayer>(before, after, 0.0f); }, {image}, {}, "/around");
}

// [in][out of the group][rows][columns], as a convolution has them: [out][in of the group][...], reversed.
Constant transposed_weights(const NodeImport& node, const Constant& weights, std::int64_t groups) {
  const std::int64_t in = weights.dims[0] / groups, out = weights.dims[1];
  const std::int64_t taps = static_cast<std::int64_t>(weights.count()) / (weights.dims[0] * out);
  node.charge(static_cast<std::int64_t>(weights.count()) * 8);
  std::vector<std::int32_t> from;
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t c = 0; c < in; ++c)
        for (std::int64_t t = taps; t-- > 0;)
          from.push_back(static_cast<std::int32_t>(((g * in + c) * out + o) * taps + t));
  return rearranged(weights, {static_cast<std::int64_t>(from.size())}, from);
}

// The transposed convolution as a convolution of the image with zeros between its elements.
void import_conv_transpose(NodeImport& node) {
  node.expect_inputs(2, 3);
  node.expect_batch_first(0);
  const Constant weights = read_conv_weights(node);
  const Shape sample = node.shape(0), image = as_image(sample);
  const std::size_t axes = sample.size() - 1;
  ConvolutionSpec spec;
  spec.groups = read_groups(node);
  spec.in_channels = weights.dims[0];
  if (spec.in_channels % spec.groups != 0 || spec.in_channels != image[0])
    node.fail("its weights {} do not fit an input of {} channels in {} groups", to_string(weights.dims),
              image[0], spec.groups);
  spec.out_channels = weights.dims[1] * spec.groups;
  const std::vector<std::int64_t> taps(weights.dims.begin() + 2, weights.dims.end());
  if (node.integers("kernel_shape", taps) != taps)
    node.fail("its kernel_shape is not that of its weights {}", to_string(weights.dims));
  spec.window.height = axes == 2 ? taps[0] : 1;
  spec.window.width = taps.back();
  const std::vector<std::int64_t> dilations = node.integers("dilations", std::vector<std::int64_t>(axes, 1));
  const Spread columns = read_spread(node, axes - 1, axes, image[2], taps.back());
  const Spread rows = axes == 2 ? read_spread(node, 0, axes, image[1], taps[0]) : Spread{1, 0, 0};
  spec.window.dilation_width = dilations.back();
  if (axes == 2) spec.window.dilation_height = dilations[0];
  const int spread = add_spread(node, add_as_image(node, 0), rows, columns);
  emit_convolution(node, spread, spec, transposed_weights(node, weights, spec.groups));
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
          "{} of {} with a matrix is supported for one vector per sample only, and must leave the batch "
          "apart",
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
  emit_from_image(node,
                  node.add([&] { return std::make_shared<BatchNormLayer>(channels, epsilon, momentum); },
                           {add_as_image(node, 0)}, parameters));
}

constexpr OperatorImporter kLinear[] = {
    {"BatchNormalization", import_batch_norm},
    {"Conv", import_conv},
    {"ConvTranspose", import_conv_transpose},
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
