// Values as pairs (c, d), u = c - d (see decompose.h), and the graph that computes them; the rule by which a
// kind of layer takes pairs to a pair.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dc/decompose.h"
#include "net/graph.h"
#include "net/layer_kind.h"

namespace lwsvm {

constexpr int kNone = -1;

// A value as the difference of two nodes; d = kNone is zero. Affine: linear in the open layer's weights, or
// constant.
struct Pair {
  int c = kNone, d = kNone;
  bool affine = true;
  bool constant = false;  // does not depend on the open layer at all
};

// The linear function of a layer with other numbers in the place of its weights, as a new node.
using MakeLinear = std::function<int(int input, const std::vector<float>& weights, bool with_constant)>;

// Adds nodes to a decomposition. Where a node is taken or returned, kNone is zero.
class PairGraph {
 public:
  PairGraph(const Graph& tail, Decomposition& result) : tail_(tail), result_(result) {}

  const Graph& tail() const { return tail_; }
  Graph& graph() { return result_.graph; }
  std::vector<float> parameters_of(const Node& node) const;  // of the tail: what is trained

  int add(std::shared_ptr<const Layer> layer, std::vector<int> inputs);
  int add_with(std::shared_ptr<const Layer> layer, int input, const std::vector<float>& parameters);
  int add_free(std::shared_ptr<const Layer> layer,
               std::vector<int> inputs);  // the oracle searches its pieces

  int sum(const std::vector<int>& terms);
  int difference(int a, int b);
  int maximum(int a, int b);
  int shifted(int node, float offset);
  int scaled(int node, const std::vector<float>& factors);
  int zeros(int like);
  int as_vector(int node);

  //   ( A+ c + A- d + constant,  A- c + A+ d )
  Pair signed_split(const Pair& in, const std::vector<float>& weights, const MakeLinear& make);

 private:
  const Graph& tail_;
  Decomposition& result_;
  int counter_ = 0;
};

struct PairRule {
  LayerKind kind;
  Pair (*apply)(PairGraph& to, const Node& node, const std::vector<Pair>& in);
};

std::span<const PairRule> linear_rules();     // linear_rules.cc
std::span<const PairRule> piecewise_rules();  // piecewise_rules.cc

}  // namespace lwsvm
