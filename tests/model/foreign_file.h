// An ONNX file as another program would write it, node by node.
#pragma once

#include <onnx/onnx_pb.h>

#include <concepts>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/onnx_reader.h"

namespace lwsvm {

class File {
 public:
  // A batch of 0 is a free one, "N".
  explicit File(const Shape& input = {0, 4}, std::int64_t opset = 13, const Shape& output = {0, 2}) {
    model_.set_ir_version(7);
    model_.add_opset_import()->set_version(opset);
    declare(*graph().add_input(), "x", input);
    declare(*graph().add_output(), "y", output);
  }

  onnx::ModelProto& model() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output = "y") {
    onnx::NodeProto& added = *graph().add_node();
    added.set_op_type(op);
    added.set_name(op + "_" + std::to_string(graph().node_size()));
    for (const auto& input : inputs) added.add_input(input);
    added.add_output(output);
    return added;
  }
  onnx::TensorProto& floats(const std::string& name, const Shape& dims, std::vector<float> values = {}) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    fill(tensor, dims, std::move(values));
    return tensor;
  }
  static void fill(onnx::TensorProto& tensor, const Shape& dims, std::vector<float> values = {}) {
    if (values.empty())
      for (std::int64_t i = 0; i < element_count(dims); ++i) values.push_back(static_cast<float>(i + 1));
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (std::int64_t size : dims) tensor.add_dims(size);
    for (float value : values) tensor.add_float_data(value);
  }
  void integers(const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (std::int64_t value : values) tensor.add_int64_data(value);
  }
  static void set(onnx::NodeProto& node, const char* name, std::integral auto value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  static void set(onnx::NodeProto& node, const char* name, float value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  static void set(onnx::NodeProto& node, const char* name, const char* value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(value);
  }
  static void set(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (std::int64_t value : values) attribute.add_ints(value);
  }

  Model read() const { return from_onnx_bytes(model_.SerializeAsString(), "test.onnx"); }
  std::string error() const {
    try {
      read();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  static void declare(onnx::ValueInfoProto& info, const std::string& name, const Shape& shape) {
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (std::int64_t size : shape) type.mutable_shape()->add_dim()->set_dim_value(size);
    if (!shape.empty() && shape[0] == 0) type.mutable_shape()->mutable_dim(0)->set_dim_param("N");
  }

  onnx::ModelProto model_;
};

}  // namespace lwsvm
