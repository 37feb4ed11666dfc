// The network: a directed acyclic graph of layers, in an order in which every node follows its inputs.
//
// Parameters live in one flat vector (what solvers update), each node's weight and bias side by side: `w_l`
// of the paper is a contiguous range. Running averages of batch normalisation live in a second one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/layer.h"

namespace lwsvm {

struct ParameterRange {
  std::int64_t begin = 0, size = 0;
  std::int64_t end() const { return begin + size; }
};

struct Parameter {
  std::string name;  // "weight"
  Shape shape;
  Role role;
  ParameterRange range;  // within parameters(), or within statistics() for Role::statistic
};

struct Node {
  std::string name;
  std::shared_ptr<const Layer> layer;  // null: an input of the graph
  std::vector<int> inputs;
  Shape shape;
  std::vector<Parameter> parameters;
  ParameterRange trained;  // all of the node's parameters but the statistics
  ParameterRange statistics;

  bool is_input() const { return layer == nullptr; }
  bool has_weights() const;  // a convolution or dense layer: can be opened
};

class Graph {
 public:
  int add_input(std::string name, Shape shape);
  int add(std::string name, std::shared_ptr<const Layer> layer,
          std::vector<int> inputs);  // throws on misfit shapes
  void set_output(int node) { output_ = node; }

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
  int output() const { return output_; }
  int scores() const;  // the output, or what a softmax, argmax, sigmoid at the end is applied to
  std::vector<int> inputs() const;
  std::optional<int> find(const std::string& name) const;
  std::vector<int> consumers(int node) const;
  std::int64_t flops() const;          // of one forward pass of one sample
  std::int64_t flops(int node) const;  // this node's share of them

  std::vector<float>& parameters() { return parameters_; }
  const std::vector<float>& parameters() const { return parameters_; }
  std::vector<float>& statistics() { return statistics_; }
  const std::vector<float>& statistics() const { return statistics_; }

  // 1 for every regularised parameter, 0 for the others.
  std::vector<std::uint8_t> regularised_mask() const;

 private:
  std::vector<Node> nodes_;
  int output_ = -1;
  std::vector<float> parameters_;
  std::vector<float> statistics_;
};

}  // namespace lwsvm
