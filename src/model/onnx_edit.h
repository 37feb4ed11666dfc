// Changes to the structure of an ONNX file. Private to src/model.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/tensor.h"

namespace lwsvm {

// Who makes which value.
class OnnxIndex {
 public:
  explicit OnnxIndex(const onnx::GraphProto& graph);

  const onnx::NodeProto* producer(const std::string& value) const;       // null: an initialiser, or an input
  const onnx::TensorProto* initializer(const std::string& value) const;  // null: it is none
  bool is_constant(const std::string& value) const;                      // does not depend on an input
  bool is_taken(const std::string& name) const { return names_.contains(name); }

 private:
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
  std::unordered_map<std::string, const onnx::TensorProto*> initializers_;
  std::unordered_set<std::string> inputs_, names_;  // names: of values and nodes
};

class OnnxEditor {
 public:
  explicit OnnxEditor(onnx::ModelProto& model);

  std::int64_t opset() const { return opset_; }
  std::string free_name(const std::string& wanted);  // that name, or one like it; taken from now on

  // Before all other nodes, in the order of calls; or after them.
  onnx::NodeProto& add_first(const std::string& op, const std::vector<std::string>& inputs,
                             const std::string& output);
  onnx::NodeProto& add_last(const std::string& op, const std::vector<std::string>& inputs,
                            const std::string& output);
  void add_constant(const std::string& name, int type, const Shape& dims, const std::vector<float>& values);
  // Everybody who reads a value reads another one from now on.
  void redirect(const std::string& from, const std::string& to);
  // Removes nodes, initialisers and descriptions that the outputs do not need.
  void remove_unneeded();

 private:
  onnx::NodeProto& append(const std::string& op, const std::vector<std::string>& inputs,
                          const std::string& output);

  onnx::ModelProto& model_;
  onnx::GraphProto& graph_;
  std::int64_t opset_ = 0;
  int first_ = 0;  // nodes that were put in front
  std::unordered_set<std::string> taken_;
};

void set_int(onnx::NodeProto& node, const char* name, std::int64_t value);

}  // namespace lwsvm
