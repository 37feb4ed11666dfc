// Random networks of every layer kind, with branches and joins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "checks.h"
#include "net/graph.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {

// Grows a graph one random node at a time, each on any of the nodes before it: branches, joins, dead ends.
class Grower {
 public:
  explicit Grower(std::uint64_t seed) : random_(seed, 21) {
    graph_.add_input("x", {below(4) + 1, below(4) + 4, below(4) + 4});
    if (below(4) == 0) graph_.add_input("y", graph_.node(0).shape);
  }

  Graph grow(int nodes) {
    while (static_cast<int>(graph_.nodes().size()) < nodes) add_node();
    return std::move(graph_);
  }

  // Joins every image that nobody reads into a vector of `classes` scores.
  Graph grow_scores(int nodes, std::int64_t classes) {
    while (static_cast<int>(graph_.nodes().size()) < nodes) add_node();
    std::vector<int> ends;
    const int count = static_cast<int>(graph_.nodes().size());
    for (int node = 0; node < count; ++node)
      if (graph_.consumers(node).empty() || node == 0) ends.push_back(add(layer<FlattenLayer>(), {node}));
    const int all = add(layer<ConcatLayer>(0), ends);
    add(layer<DenseLayer>(graph_.node(all).shape[0], classes), {all});
    return std::move(graph_);
  }

 private:
  std::int64_t below(std::uint64_t bound) { return static_cast<std::int64_t>(random_.below(bound)); }

  int add(std::shared_ptr<const Layer> what, std::vector<int> inputs) {
    return graph_.add("n" + std::to_string(graph_.nodes().size()), std::move(what), std::move(inputs));
  }

  int pick() {  // mostly a recent node, so that the graph gets deep
    const auto count = graph_.nodes().size();
    return static_cast<int>(
        count - 1 -
        (random_.below(3) ? random_.below(std::min<std::uint64_t>(3, count)) : random_.below(count)));
  }

  // Between 1 and 4 nodes of the shape of `node`, possibly `node` itself and any of them twice.
  std::vector<int> alike(int node) {
    std::vector<int> candidates, chosen{node};
    for (int other = 0; other < static_cast<int>(graph_.nodes().size()); ++other)
      if (graph_.node(other).shape == graph_.node(node).shape) candidates.push_back(other);
    for (std::int64_t more = below(3) + 1; more > 0; --more)
      chosen.insert(chosen.begin() + below(chosen.size() + 1), candidates[random_.below(candidates.size())]);
    return chosen;
  }

  WindowSpec window(const Shape& image) {
    WindowSpec w;
    w.height = std::min(below(3) + 1, image[1]);
    w.width = std::min(below(3) + 1, image[2]);
    w.stride_height = below(2) + 1;
    w.stride_width = below(2) + 1;
    w.pad_top = below(static_cast<std::uint64_t>(w.height));
    w.pad_left = below(static_cast<std::uint64_t>(w.width));
    w.pad_bottom = below(static_cast<std::uint64_t>(w.height));
    w.pad_right = below(static_cast<std::uint64_t>(w.width));
    return w;
  }

  void add_convolution(int node) {
    ConvolutionSpec spec;
    const Shape shape = graph_.node(node).shape;
    spec.in_channels = shape[0];
    spec.out_channels = below(2) ? shape[0] : below(9) + 1;
    spec.bias = below(2) == 0;
    spec.window = window(shape);
    if (below(2) == 0) {  // keeps the shape, so that sums can follow
      spec.out_channels = shape[0];
      spec.window = {};
      spec.window.height = spec.window.width = 3;
      spec.window.pad_top = spec.window.pad_left = spec.window.pad_bottom = spec.window.pad_right = 1;
    }
    add(std::make_shared<ConvolutionLayer>(spec), {node});
  }

  void add_node() {
    const int node = pick();
    const Shape shape = graph_.node(node).shape;
    switch (random_.below(19)) {
      case 0:
      case 1:
        return add_convolution(node);
      case 2:
      case 3:
        add(layer<ReluLayer>(), {node});
        return;
      case 4:
        add(layer<LeakyReluLayer>(0.2f), {node});
        return;
      case 5:
        add(layer<PReluLayer>(below(2) ? 1 : shape[0]), {node});
        return;
      case 6:
        add(layer<ClipLayer>(-0.5f, 0.75f), {node});
        return;
      case 7:
        add(layer<AbsLayer>(), {node});
        return;
      case 8:
        add(layer<MaximumLayer>(below(2) == 0), alike(node));
        return;
      case 9:
        add(layer<MaxPoolLayer>(window(shape)), {node});
        return;
      case 10:
        add(layer<AveragePoolLayer>(window(shape), below(2) == 0), {node});
        return;
      case 11: {  // a ReLU that a max-pool may absorb, unless somebody else reads it
        const int relu = add(layer<ReluLayer>(), {node});
        const int pool = add(layer<MaxPoolLayer>(window(shape)), {relu});
        if (below(2)) add(layer<AddLayer>(), alike(below(2) ? relu : node));
        if (below(3) == 0) add(layer<MaxPoolLayer>(window(shape)), {relu});
        if (below(2)) add(layer<AddLayer>(), {pool, pool});
        return;
      }
      case 12:
        add(layer<BatchNormLayer>(shape[0]), {node});
        return;
      case 13:
      case 14:
        add(layer<AddLayer>(), alike(node));
        return;
      case 15: {
        const std::vector<int> two = alike(node);
        add(layer<SubtractLayer>(), {two[0], two[1]});
        return;
      }
      case 16: {
        if (shape[0] > 12) return;
        add(layer<ConcatLayer>(0), alike(node));
        return;
      }
      case 17:
        add(layer<AffineLayer>(random_floats(shape[0], 0.5, 1.5, random_), random_floats(1, -1, 1, random_)),
            {node});
        return;
      case 18:
        if (below(2) && shape[1] * shape[2] < 64)
          add(layer<TransposeLayer>(std::vector<std::int64_t>{0, 2, 1}), {node});
        else
          add(layer<DropoutLayer>(0.0f), {node});
        return;
    }
  }

  Random random_;
  Graph graph_;
};

inline std::string describe(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) {
    text += node.name + " " + to_string(node.shape) + " = " +
            (node.is_input() ? "input" : std::string(to_string(node.layer->kind()))) + "(";
    for (int input : node.inputs) text += " " + graph.node(input).name;
    text += " )\n";
  }
  return text;
}

}  // namespace lwsvm
