// A graph's nodes to ONNX nodes: what the functions that write a kind of layer have to work with, and the
// table of these functions. Only onnx_*.cc may include this.
#pragma once

#include <onnx/onnx_pb.h>

#include <span>
#include <string>
#include <vector>

#include "model/onnx_names.h"
#include "net/graph.h"

namespace lwsvm {

inline constexpr int kWrittenIr = 7, kWrittenOpset = 13;

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, onnx::GraphProto& proto) : graph_(graph), proto_(proto) {}

  void write();

  // What follows is about the node being written.
  const Node& node() const { return *node_; }
  const std::string& name() const { return name_; }
  const Shape& input_shape() const { return graph_.node(node_->inputs[0]).shape; }
  std::string input() const { return values_[static_cast<std::size_t>(node_->inputs[0])]; }
  std::vector<std::string> inputs() const;
  std::vector<std::string> with_parameters();  // the inputs, then the parameters as initialisers
  const float* data_of(const Parameter& parameter) const;

  // The ONNX node that has the layer's name and gives its output.
  onnx::NodeProto& add(const std::string& op, const std::vector<std::string>& node_inputs);
  // Two ONNX nodes by two constants; the second has the layer's name, so that its output has it too.
  void add_two(const char* first, const char* first_constant, const std::vector<float>& first_values,
               const char* second, const char* second_constant, const std::vector<float>& second_values);

  // Initialisers; each returns its name.
  std::string tensor(const std::string& suffix, const Shape& dims, const float* data);
  std::string scalar(const std::string& suffix, float value) { return tensor(suffix, {}, &value); }
  std::string integers(const std::string& suffix, const Shape& values);
  // One value, one per channel ([C, 1, 1]), or one per element.
  std::string constant(const std::string& suffix, const std::vector<float>& values);

 private:
  std::string initialiser(const std::string& suffix, const Shape& dims, int type, const void* data,
                          std::size_t bytes);

  const Graph& graph_;
  onnx::GraphProto& proto_;
  const Node* node_ = nullptr;
  std::string name_;
  std::vector<std::string> values_;  // of every node, the name of its output
  UniqueNames node_names_, value_names_;
};

struct LayerWriter {
  LayerKind kind;
  void (*write)(GraphWriter& to, const Layer& layer);
};

std::span<const LayerWriter> layer_writers();  // onnx_export_layers.cc

}  // namespace lwsvm
