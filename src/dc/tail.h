// The part of a network that depends on one layer: what the layer problem sees.
//
// Open a layer (give it free weights, freeze all others) and the graph falls into three parts: what comes
// before it or beside it and stays constant, the layer, and its tail, everything that depends on its output.
// The tail is a graph of its own; its inputs are the open layer's output and the constants that join it from
// beside (the other arm of a residual block, the other branches of a concat): the *frontier*.
#pragma once

#include <vector>

#include "net/graph.h"

namespace lwsvm {

struct Tail {
  int open_node = -1;
  Graph graph;  // input 0: the open layer's output; inputs 1..: the frontier; output: the scores
  std::vector<int> frontier;  // nodes of the whole network, in the order of the inputs 1..
};

// Which nodes depend on `node`, itself included.
std::vector<bool> dependents(const Graph& network, int node);

// Which nodes the scores depend on.
std::vector<bool> needed_for_scores(const Graph& network);

// Of the dependents the ones that the scores need: heads beside the scores do not count.
std::vector<bool> on_the_way_to_scores(const Graph& network, int node);

// Throws Error when a layer after the open one is neither linear nor piecewise linear, naming it and the
// layers that can be refined. Batch normalisation is frozen; dropout is left out.
Tail cut_tail(const Graph& network, int open_node);

// Layers with weights that can be opened, first to last.
std::vector<int> refinable_layers(const Graph& network);
// Why a layer cannot be opened; empty if it can.
std::string why_not_refinable(const Graph& network, int node);

}  // namespace lwsvm
