// A graph's nodes to ONNX nodes, one function for each kind of layer; ModelInfo to metadata.
#include "model/onnx_writer.h"

#include <onnx/onnx_pb.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/version.h"
#include "model/onnx_momentum.h"
#include "model/onnx_names.h"
#include "model/onnx_source.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/shape_layers.h"
#include "net/layers/softmax_layer.h"

namespace lwsvm {
namespace {

constexpr int kIrVersion = 7, kOpsetVersion = 13;

using Integers = std::vector<std::int64_t>;

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, onnx::GraphProto& proto) : graph_(graph), proto_(proto) {}

  void write() {
    if (graph_.nodes().empty() || graph_.node(graph_.output()).is_input())
      fail("onnx", "a network without layers cannot be written");
    for (const Node& node : graph_.nodes()) {
      node_ = &node;
      name_ = node_names_.claim(node.name.empty() ? "node" : node.name);
      values_.push_back(value_names_.claim(name_));
      if (node.is_input())
        declare(*proto_.add_input(), values_.back(), node.shape);
      else
        write_layer(*node.layer);
    }
    const Node& output = graph_.node(graph_.output());
    declare(*proto_.add_output(), values_[static_cast<std::size_t>(graph_.output())], output.shape);
  }

 private:
  void write_layer(const Layer& layer) {
    if (auto* l = dynamic_cast<const ConvolutionLayer*>(&layer)) return write_convolution(*l);
    if (dynamic_cast<const DenseLayer*>(&layer)) {
      set(add("Gemm", with_parameters()), "transB", std::int64_t{1});
      return;
    }
    if (auto* l = dynamic_cast<const BatchNormLayer*>(&layer)) {
      onnx::NodeProto& node = add("BatchNormalization", with_parameters());
      set(node, "epsilon", l->epsilon());
      set(node, "momentum", one_minus_momentum(l->momentum()));
      return;
    }
    if (auto* l = dynamic_cast<const PReluLayer*>(&layer)) return write_prelu(*l);
    if (dynamic_cast<const ReluLayer*>(&layer)) return (void)add("Relu", inputs());
    if (auto* l = dynamic_cast<const LeakyReluLayer*>(&layer))
      return set(add("LeakyRelu", inputs()), "alpha", l->slope());
    if (auto* l = dynamic_cast<const ClipLayer*>(&layer))
      return (void)add("Clip", {input(), scalar("min", l->low()), scalar("max", l->high())});
    if (dynamic_cast<const AbsLayer*>(&layer)) return (void)add("Abs", inputs());
    if (auto* l = dynamic_cast<const MaximumLayer*>(&layer))
      return (void)add(l->minimum() ? "Min" : "Max", inputs());
    if (dynamic_cast<const AddLayer*>(&layer))
      return (void)add(node_->inputs.size() == 2 ? "Add" : "Sum", inputs());
    if (dynamic_cast<const SubtractLayer*>(&layer)) return (void)add("Sub", inputs());
    if (auto* l = dynamic_cast<const ConcatLayer*>(&layer))
      return set(add("Concat", inputs()), "axis", l->axis() + 1);
    if (auto* l = dynamic_cast<const NormalizeLayer*>(&layer))
      return write_pair("Sub", "mean", l->mean(), "Div", "deviation", l->deviation());
    if (auto* l = dynamic_cast<const AffineLayer*>(&layer))
      return write_pair("Mul", "scale", l->scale(), "Add", "offset", l->offset());
    if (auto* l = dynamic_cast<const MaxPoolLayer*>(&layer)) return write_max_pool(*l);
    if (auto* l = dynamic_cast<const AveragePoolLayer*>(&layer)) return write_average_pool(*l);
    if (auto* l = dynamic_cast<const GlobalPoolLayer*>(&layer))
      return (void)add(std::string(l->kind()), inputs());
    if (dynamic_cast<const FlattenLayer*>(&layer))
      return set(add("Flatten", inputs()), "axis", std::int64_t{1});
    if (auto* l = dynamic_cast<const ReshapeLayer*>(&layer))
      return (void)add("Reshape", {input(), integers("shape", behind_batch(0, l->target()))});
    if (auto* l = dynamic_cast<const TransposeLayer*>(&layer)) {
      Integers order{0};
      for (std::int64_t axis : l->order()) order.push_back(axis + 1);
      return set(add("Transpose", inputs()), "perm", order);
    }
    if (auto* l = dynamic_cast<const PadLayer*>(&layer)) {
      Integers pads = behind_batch(0, l->before());
      const Integers after = behind_batch(0, l->after());
      pads.insert(pads.end(), after.begin(), after.end());
      return (void)add("Pad", {input(), integers("pads", pads), scalar("value", l->value())});
    }
    if (auto* l = dynamic_cast<const SliceLayer*>(&layer)) return write_slice(*l);
    if (auto* l = dynamic_cast<const DropoutLayer*>(&layer))
      return (void)add("Dropout", {input(), scalar("ratio", l->rate())});
    if (auto* l = dynamic_cast<const SoftmaxLayer*>(&layer))
      return set(add(std::string(l->kind()), inputs()), "axis", std::int64_t{1});
    fail("onnx", "node '{}': layers of kind {} cannot be written", name_, layer.kind());
  }

  void write_convolution(const ConvolutionLayer& layer) {
    onnx::NodeProto& node = add("Conv", with_parameters());
    set_window(node, layer.spec().window);
    set(node, "dilations", dilations(layer.spec().window));
    set(node, "group", layer.spec().groups);
  }

  void write_max_pool(const MaxPoolLayer& layer) {
    onnx::NodeProto& node = add("MaxPool", inputs());
    set_window(node, layer.window());
    set(node, "dilations", dilations(layer.window()));
    set(node, "ceil_mode", std::int64_t{layer.window().ceil_mode});
  }

  void write_average_pool(const AveragePoolLayer& layer) {
    if (dilations(layer.window()) != Integers{1, 1})
      fail("onnx",
           "node '{}': ONNX has average pools with dilation only since opset 19; lwsvm writes opset {}",
           name_, kOpsetVersion);
    onnx::NodeProto& node = add("AveragePool", inputs());
    set_window(node, layer.window());
    set(node, "ceil_mode", std::int64_t{layer.window().ceil_mode});
    set(node, "count_include_pad", std::int64_t{layer.count_padding()});
  }

  void write_prelu(const PReluLayer& layer) {
    const Parameter& slope = node_->parameters[0];
    Integers dims{layer.slopes()};  // [C, 1, 1] for images, so that it lies along the channels
    if (layer.slopes() != 1) dims.resize(node_->shape.size(), 1);
    add("PRelu", {input(), tensor(slope.name, dims, data_of(slope))});
  }

  void write_slice(const SliceLayer& layer) {
    const Shape& in = graph_.node(node_->inputs[0]).shape;
    Integers ends, axes;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::int64_t step = layer.step()[i];
      if (step == 0) fail("onnx", "node '{}': a Slice with step 0 cannot be written", name_);
      const std::int64_t end = layer.start()[i] + step * (layer.count()[i] - 1) + (step > 0 ? 1 : -1);
      ends.push_back(end < 0 ? -in[i] - 1 : end);  // before the first element; a plain -1 would mean the last
      axes.push_back(static_cast<std::int64_t>(i) + 1);
    }
    add("Slice", {input(), integers("starts", layer.start()), integers("ends", ends), integers("axes", axes),
                  integers("steps", layer.step())});
  }

  // Two nodes by two constants; the second has the layer's name, so that its output has it too.
  void write_pair(const char* first, const char* first_constant, const std::vector<float>& first_values,
                  const char* second, const char* second_constant, const std::vector<float>& second_values) {
    const std::string between = value_names_.claim(fmt::format("{}.{}", name_, first));
    onnx::NodeProto& node = *proto_.add_node();
    node.set_op_type(first);
    node.set_name(node_names_.claim(fmt::format("{}.{}", name_, first)));
    node.add_input(input());
    node.add_input(constant(first_constant, first_values));
    node.add_output(between);
    add(second, {between, constant(second_constant, second_values)});
  }

  onnx::NodeProto& add(const std::string& op, const std::vector<std::string>& node_inputs) {
    onnx::NodeProto& node = *proto_.add_node();
    node.set_op_type(op);
    node.set_name(name_);
    for (const std::string& in : node_inputs) node.add_input(in);
    node.add_output(values_.back());
    return node;
  }

  std::string input() const { return values_[static_cast<std::size_t>(node_->inputs[0])]; }
  std::vector<std::string> inputs() const {
    std::vector<std::string> names;
    for (int in : node_->inputs) names.push_back(values_[static_cast<std::size_t>(in)]);
    return names;
  }
  std::vector<std::string> with_parameters() {
    std::vector<std::string> names = inputs();
    for (const Parameter& parameter : node_->parameters)
      names.push_back(tensor(parameter.name, parameter.shape, data_of(parameter)));
    return names;
  }
  const float* data_of(const Parameter& parameter) const {
    const auto& store = parameter.role == Role::statistic ? graph_.statistics() : graph_.parameters();
    return store.data() + parameter.range.begin;
  }

  // Initialisers of the current node; each returns its name.
  std::string initialiser(const std::string& suffix, const Integers& dims, int type, const void* data,
                          std::size_t bytes) {
    onnx::TensorProto& proto = *proto_.add_initializer();
    proto.set_name(value_names_.claim(fmt::format("{}.{}", name_, suffix)));
    for (std::int64_t size : dims) proto.add_dims(size);
    proto.set_data_type(type);
    proto.set_raw_data(data, bytes);
    return proto.name();
  }
  std::string tensor(const std::string& suffix, const Integers& dims, const float* data) {
    const auto bytes = static_cast<std::size_t>(element_count(dims)) * sizeof(float);
    return initialiser(suffix, dims, onnx::TensorProto::FLOAT, data, bytes);
  }
  std::string scalar(const std::string& suffix, float value) { return tensor(suffix, {}, &value); }
  std::string integers(const std::string& suffix, const Integers& values) {
    return initialiser(suffix, {static_cast<std::int64_t>(values.size())}, onnx::TensorProto::INT64,
                       values.data(), values.size() * sizeof(std::int64_t));
  }
  // One value, one a channel ([C, 1, 1]), or one an element.
  std::string constant(const std::string& suffix, const std::vector<float>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    Integers dims = node_->shape;
    if (count == 1)
      dims.clear();
    else if (count != element_count(dims))
      std::fill(dims.begin() + 1, dims.end(), 1);
    return tensor(suffix, dims, values.data());
  }

  static Integers behind_batch(std::int64_t batch, const Shape& shape) {
    Integers all{batch};
    all.insert(all.end(), shape.begin(), shape.end());
    return all;
  }
  static Integers dilations(const WindowSpec& w) { return {w.dilation_height, w.dilation_width}; }

  static void set_window(onnx::NodeProto& node, const WindowSpec& w) {
    set(node, "kernel_shape", Integers{w.height, w.width});
    set(node, "strides", Integers{w.stride_height, w.stride_width});
    set(node, "pads", Integers{w.pad_top, w.pad_left, w.pad_bottom, w.pad_right});
  }
  static onnx::AttributeProto& attribute(onnx::NodeProto& node, const char* name,
                                         onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& proto = *node.add_attribute();
    proto.set_name(name);
    proto.set_type(type);
    return proto;
  }
  static void set(onnx::NodeProto& node, const char* name, std::int64_t value) {
    attribute(node, name, onnx::AttributeProto::INT).set_i(value);
  }
  static void set(onnx::NodeProto& node, const char* name, float value) {
    attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
  }
  static void set(onnx::NodeProto& node, const char* name, const Integers& values) {
    onnx::AttributeProto& proto = attribute(node, name, onnx::AttributeProto::INTS);
    for (std::int64_t value : values) proto.add_ints(value);
  }

  static void declare(onnx::ValueInfoProto& info, const std::string& name, const Shape& shape) {
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("N");
    for (std::int64_t size : shape) type.mutable_shape()->add_dim()->set_dim_value(size);
  }

  const Graph& graph_;
  onnx::GraphProto& proto_;
  const Node* node_ = nullptr;  // being written
  std::string name_;
  std::vector<std::string> values_;  // of every node, the name of its output
  UniqueNames node_names_, value_names_;
};

void write_metadata(const ModelInfo& info, onnx::ModelProto& proto) {
  std::map<std::string, std::string> all = info.metadata;
  if (info.lambda)
    all["lwsvm.lambda"] = fmt::format("{}", *info.lambda);  // the shortest that reads back the same
  if (!info.arch.empty()) all["lwsvm.arch"] = info.arch;
  if (!info.data.empty()) all["lwsvm.data"] = info.data;
  if (info.classes > 0) all["lwsvm.classes"] = fmt::format("{}", info.classes);
  if (!info.input.empty()) all["lwsvm.input"] = info.input;
  if (!info.class_names.empty()) {
    // Names that are no UTF-8 must not keep a trained network from being saved.
    all["lwsvm.class_names"] =
        nlohmann::json(info.class_names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  // What we have forgotten since the file was read is gone; what others wrote is theirs.
  auto& entries = *proto.mutable_metadata_props();
  const auto is_forgotten = [&](const onnx::StringStringEntryProto& entry) {
    return entry.key().starts_with("lwsvm.") && !all.contains(entry.key());
  };
  entries.erase(std::remove_if(entries.begin(), entries.end(), is_forgotten), entries.end());
  for (auto& entry : entries)
    if (const auto found = all.find(entry.key()); found != all.end()) {
      if (entry.value() != found->second) entry.set_value(found->second);
      all.erase(found);
    }
  for (const auto& [key, value] : all) {
    onnx::StringStringEntryProto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
}

onnx::ModelProto new_file(const Model& model) {
  onnx::ModelProto proto;
  proto.set_ir_version(kIrVersion);
  proto.set_producer_name("lwsvm");
  proto.set_producer_version(version());
  onnx::OperatorSetIdProto& opset = *proto.add_opset_import();
  opset.set_domain("");
  opset.set_version(kOpsetVersion);
  proto.mutable_graph()->set_name(model.info.name.empty() ? "lwsvm" : model.info.name);
  GraphWriter(model.graph, *proto.mutable_graph()).write();
  return proto;
}

}  // namespace

std::string to_onnx_bytes(const Model& model) {
  onnx::ModelProto proto = model.source ? with_parameters(*model.source, model.graph) : new_file(model);
  write_metadata(model.info, proto);

  if (proto.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    fail("onnx", "the network has {} parameters; an ONNX file holds at most 2 GB",
         model.graph.parameters().size());
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) fail("onnx", "the network cannot be written as ONNX");
  return bytes;
}

void write_onnx(const Model& model, const std::filesystem::path& path) {
  write_file_atomically(path, to_onnx_bytes(model));
}

}  // namespace lwsvm
