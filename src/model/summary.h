// What a network consists of, node by node, as plain data: what `lwsvm inspect` prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/graph.h"

namespace lwsvm {

struct NodeSummary {
  std::string name;
  std::string kind;                 // "Conv", ...; "Input" for an input of the graph
  std::vector<std::string> inputs;  // names of the nodes it reads
  std::vector<Shape> input_shapes;
  Shape output_shape;
  std::string details;          // "5x5 pad 2", "slope 0.1"; may be empty
  std::int64_t parameters = 0;  // trained
  std::int64_t statistics = 0;  // running averages
  std::int64_t flops = 0;       // one forward pass of one sample
  Linearity linearity = Linearity::linear;
};

struct GraphSummary {
  std::vector<NodeSummary> nodes;
  std::int64_t parameters = 0, statistics = 0, flops = 0;
};

GraphSummary describe(const Graph& graph);

}  // namespace lwsvm
