// How each kind of layer is written as ONNX: one function and one line of the table.
#include <array>

#include "base/error.h"
#include "model/onnx_export.h"
#include "model/onnx_momentum.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

using Integers = Shape;

onnx::AttributeProto& new_attribute(onnx::NodeProto& node, const char* name,
                                    onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& proto = *node.add_attribute();
  proto.set_name(name);
  proto.set_type(type);
  return proto;
}

void set_attribute(onnx::NodeProto& node, const char* name, std::int64_t value) {
  new_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void set_attribute(onnx::NodeProto& node, const char* name, float value) {
  new_attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void set_attribute(onnx::NodeProto& node, const char* name, const Integers& values) {
  onnx::AttributeProto& proto = new_attribute(node, name, onnx::AttributeProto::INTS);
  for (std::int64_t value : values) proto.add_ints(value);
}

Integers dilations_of(const WindowSpec& w) {
  return {w.dilation_height, w.dilation_width};
}

void set_window(onnx::NodeProto& node, const WindowSpec& w) {
  set_attribute(node, "kernel_shape", Integers{w.height, w.width});
  set_attribute(node, "strides", Integers{w.stride_height, w.stride_width});
  set_attribute(node, "pads", Integers{w.pad_top, w.pad_left, w.pad_bottom, w.pad_right});
}

Integers after_batch(std::int64_t batch, const Shape& shape) {
  Integers all{batch};
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

// Layers that ONNX knows by the same name and without attributes.
void export_plain(GraphWriter& to, const Layer& layer) {
  to.add(std::string(to_string(layer.kind())), to.inputs());
}

void export_add(GraphWriter& to, const Layer&) {
  to.add(to.node().inputs.size() == 2 ? "Add" : "Sum", to.inputs());
}

void export_affine(GraphWriter& to, const Layer& layer) {
  const auto& affine = static_cast<const AffineLayer&>(layer);
  to.add_two("Mul", "scale", affine.scale(), "Add", "offset", affine.offset());
}

void export_average_pool(GraphWriter& to, const Layer& layer) {
  const auto& pool = static_cast<const AveragePoolLayer&>(layer);
  if (dilations_of(pool.window()) != Integers{1, 1})
    fail("onnx", "node '{}': ONNX has average pools with dilation only since opset 19; lwsvm writes opset {}",
         to.name(), kWrittenOpset);
  onnx::NodeProto& node = to.add("AveragePool", to.inputs());
  set_window(node, pool.window());
  set_attribute(node, "ceil_mode", std::int64_t{pool.window().ceil_mode});
  set_attribute(node, "count_include_pad", std::int64_t{pool.count_padding()});
}

void export_batch_norm(GraphWriter& to, const Layer& layer) {
  const auto& norm = static_cast<const BatchNormLayer&>(layer);
  onnx::NodeProto& node = to.add("BatchNormalization", to.with_parameters());
  set_attribute(node, "epsilon", norm.epsilon());
  set_attribute(node, "momentum", one_minus_momentum(norm.momentum()));
}

void export_clip(GraphWriter& to, const Layer& layer) {
  const auto& clip = static_cast<const ClipLayer&>(layer);
  to.add("Clip", {to.input(), to.scalar("min", clip.low()), to.scalar("max", clip.high())});
}

void export_concat(GraphWriter& to, const Layer& layer) {
  set_attribute(to.add("Concat", to.inputs()), "axis", static_cast<const ConcatLayer&>(layer).axis() + 1);
}

void export_convolution(GraphWriter& to, const Layer& layer) {
  const ConvolutionSpec& spec = static_cast<const ConvolutionLayer&>(layer).spec();
  onnx::NodeProto& node = to.add("Conv", to.with_parameters());
  set_window(node, spec.window);
  set_attribute(node, "dilations", dilations_of(spec.window));
  set_attribute(node, "group", spec.groups);
}

void export_dense(GraphWriter& to, const Layer&) {
  set_attribute(to.add("Gemm", to.with_parameters()), "transB", std::int64_t{1});
}

void export_dropout(GraphWriter& to, const Layer& layer) {
  to.add("Dropout", {to.input(), to.scalar("ratio", static_cast<const DropoutLayer&>(layer).rate())});
}

void export_leaky_relu(GraphWriter& to, const Layer& layer) {
  set_attribute(to.add("LeakyRelu", to.inputs()), "alpha", static_cast<const LeakyReluLayer&>(layer).slope());
}

void export_max_pool(GraphWriter& to, const Layer& layer) {
  const WindowSpec& window = static_cast<const MaxPoolLayer&>(layer).window();
  onnx::NodeProto& node = to.add("MaxPool", to.inputs());
  set_window(node, window);
  set_attribute(node, "dilations", dilations_of(window));
  set_attribute(node, "ceil_mode", std::int64_t{window.ceil_mode});
}

void export_normalize(GraphWriter& to, const Layer& layer) {
  const auto& normalize = static_cast<const NormalizeLayer&>(layer);
  to.add_two("Sub", "mean", normalize.mean(), "Div", "deviation", normalize.deviation());
}

void export_pad(GraphWriter& to, const Layer& layer) {
  const auto& pad = static_cast<const PadLayer&>(layer);
  Integers pads = after_batch(0, pad.before());
  const Integers after = after_batch(0, pad.after());
  pads.insert(pads.end(), after.begin(), after.end());
  to.add("Pad", {to.input(), to.integers("pads", pads), to.scalar("value", pad.value())});
}

void export_prelu(GraphWriter& to, const Layer& layer) {
  const std::int64_t slopes = static_cast<const PReluLayer&>(layer).slopes();
  const Parameter& slope = to.node().parameters[0];
  Integers dims{slopes};  // [C, 1, 1] for images, so that it lies along the channels
  if (slopes != 1) dims.resize(to.node().shape.size(), 1);
  to.add("PRelu", {to.input(), to.tensor(slope.name, dims, to.data_of(slope))});
}

void export_reshape(GraphWriter& to, const Layer& layer) {
  const Shape& target = static_cast<const ReshapeLayer&>(layer).target();
  to.add("Reshape", {to.input(), to.integers("shape", after_batch(0, target))});
}

void export_slice(GraphWriter& to, const Layer& layer) {
  const auto& slice = static_cast<const SliceLayer&>(layer);
  const Shape& in = to.input_shape();
  Integers ends, axes;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t step = slice.step()[i];
    if (step == 0) fail("onnx", "node '{}': a Slice with step 0 cannot be written", to.name());
    const std::int64_t end = slice.start()[i] + step * (slice.count()[i] - 1) + (step > 0 ? 1 : -1);
    ends.push_back(end < 0 ? -in[i] - 1 : end);  // before the first element; a plain -1 would mean the last
    axes.push_back(static_cast<std::int64_t>(i) + 1);
  }
  to.add("Slice", {to.input(), to.integers("starts", slice.start()), to.integers("ends", ends),
                   to.integers("axes", axes), to.integers("steps", slice.step())});
}

void export_transpose(GraphWriter& to, const Layer& layer) {
  Integers order{0};
  for (std::int64_t axis : static_cast<const TransposeLayer&>(layer).order()) order.push_back(axis + 1);
  set_attribute(to.add("Transpose", to.inputs()), "perm", order);
}

// Over the first axis after the batch's.
void export_along_first_axis(GraphWriter& to, const Layer& layer) {
  set_attribute(to.add(std::string(to_string(layer.kind())), to.inputs()), "axis", std::int64_t{1});
}

constexpr auto kLayerWriters = std::to_array<LayerWriter>({
    {LayerKind::abs, export_plain},
    {LayerKind::add, export_add},
    {LayerKind::affine, export_affine},
    {LayerKind::average_pool, export_average_pool},
    {LayerKind::batch_norm, export_batch_norm},
    {LayerKind::clip, export_clip},
    {LayerKind::concat, export_concat},
    {LayerKind::conv, export_convolution},
    {LayerKind::dense, export_dense},
    {LayerKind::dropout, export_dropout},
    {LayerKind::flatten, export_along_first_axis},
    {LayerKind::global_average_pool, export_plain},
    {LayerKind::global_max_pool, export_plain},
    {LayerKind::leaky_relu, export_leaky_relu},
    {LayerKind::log_softmax, export_along_first_axis},
    {LayerKind::max, export_plain},
    {LayerKind::max_pool, export_max_pool},
    {LayerKind::min, export_plain},
    {LayerKind::normalize, export_normalize},
    {LayerKind::pad, export_pad},
    {LayerKind::prelu, export_prelu},
    {LayerKind::relu, export_plain},
    {LayerKind::reshape, export_reshape},
    {LayerKind::slice, export_slice},
    {LayerKind::softmax, export_along_first_axis},
    {LayerKind::sub, export_plain},
    {LayerKind::transpose, export_transpose},
});

}  // namespace

std::span<const LayerWriter> layer_writers() {
  return kLayerWriters;
}

}  // namespace lwsvm
