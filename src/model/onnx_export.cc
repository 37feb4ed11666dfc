#include "model/onnx_export.h"

#include <algorithm>

#include "base/error.h"

namespace lwsvm {
namespace {

void declare(onnx::ValueInfoProto& info, const std::string& name, const Shape& shape) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("N");
  for (std::int64_t size : shape) type.mutable_shape()->add_dim()->set_dim_value(size);
}

const LayerWriter& writer_of(const Layer& layer, const std::string& name) {
  for (const LayerWriter& writer : layer_writers())
    if (writer.kind == layer.kind()) return writer;
  fail("onnx", "node '{}': layers of kind {} cannot be written", name, to_string(layer.kind()));
}

}  // namespace

void GraphWriter::write() {
  if (graph_.nodes().empty() || graph_.node(graph_.output()).is_input())
    fail("onnx", "a network without layers cannot be written");
  for (const Node& node : graph_.nodes()) {
    node_ = &node;
    name_ = node_names_.claim(node.name.empty() ? "node" : node.name);
    values_.push_back(value_names_.claim(name_));
    if (node.is_input())
      declare(*proto_.add_input(), values_.back(), node.shape);
    else
      writer_of(*node.layer, name_).write(*this, *node.layer);
  }
  const Node& output = graph_.node(graph_.output());
  declare(*proto_.add_output(), values_[static_cast<std::size_t>(graph_.output())], output.shape);
}

std::vector<std::string> GraphWriter::inputs() const {
  std::vector<std::string> names;
  for (int in : node_->inputs) names.push_back(values_[static_cast<std::size_t>(in)]);
  return names;
}

std::vector<std::string> GraphWriter::with_parameters() {
  std::vector<std::string> names = inputs();
  for (const Parameter& parameter : node_->parameters)
    names.push_back(tensor(parameter.name, parameter.shape, data_of(parameter)));
  return names;
}

const float* GraphWriter::data_of(const Parameter& parameter) const {
  const auto& store = parameter.role == Role::statistic ? graph_.statistics() : graph_.parameters();
  return store.data() + parameter.range.begin;
}

onnx::NodeProto& GraphWriter::add(const std::string& op, const std::vector<std::string>& node_inputs) {
  onnx::NodeProto& node = *proto_.add_node();
  node.set_op_type(op);
  node.set_name(name_);
  for (const std::string& in : node_inputs) node.add_input(in);
  node.add_output(values_.back());
  return node;
}

void GraphWriter::add_two(const char* first, const char* first_constant,
                          const std::vector<float>& first_values, const char* second,
                          const char* second_constant, const std::vector<float>& second_values) {
  const std::string between = value_names_.claim(fmt::format("{}.{}", name_, first));
  onnx::NodeProto& node = *proto_.add_node();
  node.set_op_type(first);
  node.set_name(node_names_.claim(fmt::format("{}.{}", name_, first)));
  node.add_input(input());
  node.add_input(constant(first_constant, first_values));
  node.add_output(between);
  add(second, {between, constant(second_constant, second_values)});
}

std::string GraphWriter::initialiser(const std::string& suffix, const Shape& dims, int type, const void* data,
                                     std::size_t bytes) {
  onnx::TensorProto& proto = *proto_.add_initializer();
  proto.set_name(value_names_.claim(fmt::format("{}.{}", name_, suffix)));
  for (std::int64_t size : dims) proto.add_dims(size);
  proto.set_data_type(type);
  proto.set_raw_data(data, bytes);
  return proto.name();
}

std::string GraphWriter::tensor(const std::string& suffix, const Shape& dims, const float* data) {
  const auto bytes = static_cast<std::size_t>(element_count(dims)) * sizeof(float);
  return initialiser(suffix, dims, onnx::TensorProto::FLOAT, data, bytes);
}

std::string GraphWriter::integers(const std::string& suffix, const Shape& values) {
  return initialiser(suffix, {static_cast<std::int64_t>(values.size())}, onnx::TensorProto::INT64,
                     values.data(), values.size() * sizeof(std::int64_t));
}

std::string GraphWriter::constant(const std::string& suffix, const std::vector<float>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  Shape dims = node_->shape;
  if (count == 1)
    dims.clear();
  else if (count != element_count(dims))
    std::fill(dims.begin() + 1, dims.end(), 1);
  return tensor(suffix, dims, values.data());
}

}  // namespace lwsvm
