#include "model/onnx_new_head.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "model/onnx_edit.h"
#include "model/onnx_reader.h"
#include "model/onnx_reals.h"
#include "model/onnx_source.h"
#include "model/onnx_writer.h"

namespace lwsvm {
namespace {

constexpr const char* kScaled = "lwsvm.scaled";  // the value that takes the input's place

onnx::ModelProto proto_of(const Model& model) {
  LWSVM_CHECK(model.source != nullptr);
  onnx::ModelProto proto;
  LWSVM_CHECK(proto.ParseFromString(to_onnx_bytes(model)));
  return proto;
}

// Where the network's input has its channels; -1: nowhere, as it is a list.
int channel_axis(const Shape& shape) {
  if (shape.size() != 3) return -1;
  return shape[0] <= 4 || shape[2] > 4 ? 0 : 2;
}

Model read_back(const onnx::ModelProto& proto, const Model& before) {
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) fail("adapt", "the changed network cannot be written as ONNX");
  // Where the file leaves the size of images free, it is read for the same one again.
  ImageSize size;
  if (const Shape& input = before.graph.node(before.graph.inputs()[0]).shape; input.size() == 3) {
    const bool last = channel_axis(input) == 2;
    size.height = static_cast<int>(input[last ? 0 : 1]);
    size.width = static_cast<int>(input[last ? 1 : 2]);
  }
  Model model = from_onnx_bytes(bytes, before.info.name.empty() ? "network" : before.info.name, "", size);
  model.info.notes = before.info.notes;
  return model;
}

// Operators that may stand between the last layer and the output: such as move numbers, and such as change
// scores without mixing those of different classes.
bool only_moves(const std::string& op) {
  static const std::unordered_set<std::string> known{"Flatten",  "Reshape", "Squeeze",   "Unsqueeze",
                                                     "Identity", "Dropout", "Transpose", "Cast"};
  return known.contains(op);
}

bool changes_scores(const std::string& op) {
  static const std::unordered_set<std::string> known{"Softmax",
                                                     "LogSoftmax",
                                                     "Sigmoid",
                                                     "Relu",
                                                     "LeakyRelu",
                                                     "Clip",
                                                     "ArgMax",
                                                     "Tanh",
                                                     "PRelu",
                                                     "Add",
                                                     "Sub",
                                                     "Mul",
                                                     "Div",
                                                     "Log",
                                                     "AveragePool",
                                                     "MaxPool",
                                                     "GlobalAveragePool",
                                                     "GlobalMaxPool",
                                                     "ReduceMean",
                                                     "ReduceMax",
                                                     "ReduceSum",
                                                     "BatchNormalization"};
  return known.contains(op);
}

std::string name_of(const onnx::NodeProto& node) {
  return node.name().empty() ? node.output(0) : node.name();
}

// The one input that is computed from the network's; empty if there are none or several.
std::string computed_input(const OnnxIndex& index, const onnx::NodeProto& node) {
  std::string found;
  const int inputs = only_moves(node.op_type()) ? std::min(1, node.input_size()) : node.input_size();
  for (int i = 0; i < inputs; ++i) {
    if (node.input(i).empty() || index.is_constant(node.input(i))) continue;
    if (!found.empty()) return "";
    found = node.input(i);
  }
  return found;
}

bool is_weighted(const OnnxIndex& index, const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  const bool kind = op == "Gemm" || op == "MatMul" || op == "Conv";
  return kind && node.input_size() >= 2 && !index.is_constant(node.input(0)) &&
         index.is_constant(node.input(1));
}

std::int64_t int_of(const onnx::NodeProto& node, const char* name, std::int64_t otherwise) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return attribute.i();
  return otherwise;
}

std::vector<std::int64_t> ints_of(const onnx::NodeProto& node, const char* name) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return {attribute.ints().begin(), attribute.ints().end()};
  return {};
}

// The shape of a value, without the batch: what our reader makes of the file up to there.
Shape shape_of(const onnx::ModelProto& proto, const Model& model, const std::string& value) {
  const Graph& graph = model.graph;
  for (const auto& input : proto.graph().input())
    if (input.name() == value) return graph.node(graph.inputs()[0]).shape;
  onnx::ModelProto cut = proto;
  cut.mutable_graph()->clear_output();
  cut.mutable_graph()->add_output()->set_name(value);
  OnnxEditor(cut).remove_unneeded();
  const Graph before = read_back(cut, model).graph;
  return before.node(before.output()).shape;
}

const onnx::NodeProto& last_layer(const OnnxIndex& index, const std::string& output,
                                  std::vector<std::string>& dropped) {
  std::string value = output;
  for (;;) {
    const onnx::NodeProto* node = index.producer(value);
    if (node == nullptr)
      fail("adapt", "the network has no last layer to replace: its output '{}' is its input", output);
    if (is_weighted(index, *node)) return *node;
    const std::string next = computed_input(index, *node);
    const bool passes = only_moves(node->op_type()) || changes_scores(node->op_type());
    if (!passes || next.empty())
      fail("adapt",
           "the network's scores come from {} '{}', not from a dense layer or a convolution with nothing but "
           "averages, activations or softmax after it: there is no last layer that could be replaced",
           node->op_type(), name_of(*node));
    if (!only_moves(node->op_type())) dropped.push_back(node->op_type());
    value = next;
  }
}

bool is_one_window(const onnx::NodeProto& convolution, const Shape& image) {
  const auto kernel = ints_of(convolution, "kernel_shape");
  return kernel.size() == 2 && kernel[0] == image[1] && kernel[1] == image[2];
}

// Biases that are an Add of their own are no operators after the layer.
void drop_bias(const onnx::NodeProto& layer, std::vector<std::string>& dropped) {
  if (!dropped.empty() && dropped.back() == "Add" && layer.op_type() == "MatMul") dropped.pop_back();
}

int type_of_input(const onnx::ModelProto& proto, const std::string& name) {
  for (const auto& input : proto.graph().input())
    if (input.name() == name) return input.type().tensor_type().elem_type();
  return onnx::TensorProto::FLOAT;
}

// Of the numbers that the head computes with: those of its weights.
int type_of_weights(const onnx::ModelProto& proto, const std::string& layer) {
  const OnnxIndex index(proto.graph());
  for (const auto& node : proto.graph().node()) {
    if (name_of(node) != layer || node.input_size() < 2) continue;
    std::string value = node.input(1);
    while (const onnx::NodeProto* producer = index.producer(value)) {
      if (producer->op_type() == "Constant")
        for (const auto& attribute : producer->attribute())
          if (attribute.has_t()) return attribute.t().data_type();
      if (producer->input_size() == 0) return onnx::TensorProto::FLOAT;
      value = producer->input(0);
    }
    if (const auto* tensor = index.initializer(value)) return tensor->data_type();
  }
  return onnx::TensorProto::FLOAT;
}

bool all_are(const std::vector<float>& values, float wanted) {
  return std::ranges::all_of(values, [&](float value) { return value == wanted; });
}

// One number per channel, so that it broadcasts over a batch of inputs.
Shape constant_dims(const std::vector<float>& values, const Shape& input) {
  Shape dims(input.size() + 1, 1);
  if (values.size() == 1) return dims;
  const int axis = channel_axis(input);
  if (axis < 0 || input[static_cast<std::size_t>(axis)] != std::ssize(values))
    fail("adapt", "the network takes {}, which has no {} channels to normalise one by one; give one number",
         to_string(input), values.size());
  dims[static_cast<std::size_t>(axis) + 1] = std::ssize(values);
  return dims;
}

void let_broadcast(onnx::NodeProto& node, const OnnxEditor& editor) {
  if (editor.opset() < 7) set_int(node, "broadcast", 1);
}

}  // namespace

bool InputScaling::is_identity() const {
  return all_are(mean, 0) && all_are(deviation, 1) && !reversed;
}

OldHead find_old_head(const Model& model) {
  const onnx::ModelProto proto = proto_of(model);
  const OnnxIndex index(proto.graph());
  OldHead head;
  const onnx::NodeProto& layer = last_layer(index, model.source->output, head.dropped);
  drop_bias(layer, head.dropped);
  head.layer = name_of(layer);
  head.kind = layer.op_type();
  head.features = layer.input(0);
  if (head.kind == "Gemm" && int_of(layer, "transA", 0) != 0)
    fail("adapt",
         "the last layer '{}' is a Gemm with transA, which takes its samples as columns: not supported",
         head.layer);
  head.shape = shape_of(proto, model, head.features);
  head.width = element_count(head.shape);
  if (head.kind == "Conv") {
    head.averaged =
        head.shape.size() == 3 && head.shape[1] * head.shape[2] > 1 && !is_one_window(layer, head.shape);
    if (head.averaged) head.width = head.shape[0];
  } else if (head.shape.size() > 1 && head.shape.back() != head.width) {
    fail("adapt", "the last layer '{}' is applied to each part of {}: not supported", head.layer,
         to_string(head.shape));
  }
  return head;
}

Model with_new_head(const Model& model, const OldHead& head, int classes) {
  onnx::ModelProto proto = proto_of(model);
  const int type = type_of_weights(proto, head.layer);
  const std::string output = model.source->output;
  onnx::GraphProto& graph = *proto.mutable_graph();

  // The old end goes first, so that its names are free.
  onnx::ValueInfoProto described;
  for (const auto& old : graph.output())
    if (old.name() == output) described = old;
  graph.clear_output();
  graph.add_output()->set_name(head.features);
  OnnxEditor(proto).remove_unneeded();
  graph.clear_output();

  OnnxEditor editor(proto);
  std::string at = head.features;
  if (head.averaged) {
    const std::string pooled = editor.free_name("lwsvm.average");
    editor.add_last("GlobalAveragePool", {at}, pooled);
    at = pooled;
  }
  if (head.shape.size() > 1) {
    const std::string flat = editor.free_name("lwsvm.features");
    set_int(editor.add_last("Flatten", {at}, flat), "axis", 1);
    at = flat;
  }
  const std::string name = editor.free_name(kNewHead);
  const std::string weights = editor.free_name(name + ".weight"), biases = editor.free_name(name + ".bias");
  editor.add_constant(weights, type, {classes, head.width},
                      std::vector<float>(static_cast<std::size_t>(classes * head.width), 0.0f));
  editor.add_constant(biases, type, {classes}, std::vector<float>(static_cast<std::size_t>(classes), 0.0f));
  const std::string scores = editor.free_name(output);
  onnx::NodeProto& gemm = editor.add_last("Gemm", {at, weights, biases}, scores);
  gemm.set_name(name);
  set_int(gemm, "transB", 1);
  let_broadcast(gemm, editor);

  onnx::ValueInfoProto& info = *graph.add_output();
  info.set_name(scores);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  auto& batch = *tensor.mutable_shape()->add_dim();
  if (described.type().tensor_type().shape().dim_size() > 0)
    batch = described.type().tensor_type().shape().dim(0);
  tensor.mutable_shape()->add_dim()->set_dim_value(classes);
  Model changed = model;
  changed.info.metadata.erase(kOutputKey);  // there is one output now
  Model result = read_back(proto, changed);
  result.info.metadata.erase(kOutputKey);
  return result;
}

int new_head(const Graph& graph) {
  int found = -1;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i)
    if (graph.node(i).has_weights() && graph.node(i).name.starts_with(kNewHead)) found = i;
  LWSVM_CHECK(found >= 0);
  return found;
}

Model with_scaling(const Model& model, const InputScaling& scaling) {
  if (scaling.is_identity()) return model;
  onnx::ModelProto proto = proto_of(model);
  const Graph& network = model.graph;
  const Node& input = network.node(network.inputs()[0]);
  std::string name;  // of the one input that is no initialiser
  const OnnxIndex index(proto.graph());
  for (const auto& candidate : proto.graph().input())
    if (!index.initializer(candidate.name())) name = candidate.name();
  const int type = type_of_input(proto, name);

  OnnxEditor editor(proto);
  const std::string scaled = editor.free_name(kScaled);
  editor.redirect(name, scaled);
  std::string at = name;
  const bool subtracts = !all_are(scaling.mean, 0), divides = !all_are(scaling.deviation, 1);
  // The last of these makes `scaled`.
  const auto apply = [&](const char* op, const std::vector<float>& values, const char* wanted, bool last) {
    const std::string constant = editor.free_name(wanted);
    const Shape dims = constant_dims(values, input.shape);
    editor.add_constant(constant, type, dims, values);
    const std::string result = last ? scaled : editor.free_name(std::string(wanted) + ".done");
    let_broadcast(editor.add_first(op, {at, constant}, result), editor);
    at = result;
  };
  if (subtracts) apply("Sub", scaling.mean, "lwsvm.mean", !divides && !scaling.reversed);
  if (divides) apply("Div", scaling.deviation, "lwsvm.deviation", !scaling.reversed);
  if (scaling.reversed) {
    const int axis = channel_axis(input.shape);
    if (axis < 0 || input.shape[static_cast<std::size_t>(axis)] != 3)
      fail("adapt", "the network takes {}, which has no three channels that could be BGR",
           to_string(input.shape));
    const std::vector<std::string> parts{editor.free_name("lwsvm.red"), editor.free_name("lwsvm.green"),
                                         editor.free_name("lwsvm.blue")};
    onnx::NodeProto& split = editor.add_first("Split", {at}, parts[0]);
    split.add_output(parts[1]);
    split.add_output(parts[2]);
    set_int(split, "axis", axis + 1);
    if (editor.opset() >= 18) set_int(split, "num_outputs", 3);
    set_int(editor.add_first("Concat", {parts[2], parts[1], parts[0]}, scaled), "axis", axis + 1);
  }
  return read_back(proto, model);
}

Model without_scaling(const Model& model) {
  onnx::ModelProto proto = proto_of(model);
  const OnnxIndex index(proto.graph());
  std::string at = kScaled;
  if (index.producer(at) == nullptr) return model;
  while (const onnx::NodeProto* node = index.producer(at)) at = node->input(0);
  OnnxEditor editor(proto);
  editor.redirect(kScaled, at);
  editor.remove_unneeded();
  return read_back(proto, model);
}

}  // namespace lwsvm
