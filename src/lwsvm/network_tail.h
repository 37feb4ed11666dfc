// The end of a network as a network of its own: what begins at a node that everything goes through.
//
//   scores(x) = tail(z(x)),   z the value of the node `from`
//
// What comes before is run once per sample, wherever its values are kept then; everything that is done to the
// network afterwards is done to its tail, and put back.
#pragma once

#include <vector>

#include "net/graph.h"

namespace lwsvm {

struct NetworkTail {
  Graph graph;               // its input is `from`
  int from = -1;             // a node of the network
  std::vector<int> node_of;  // the network's node for each of the tail's; the input's is `from`

  int tail_node(int network_node) const;  // throws nothing: it must be one of them
  void put_back(Graph& network) const;    // the parameters
  void take(const Graph& network);
};

// The nodes that every way from the input to the scores leads through, first to last, the input included.
std::vector<int> waists(const Graph& network);

// `from` is one of them.
NetworkTail make_tail(const Graph& network, int from);

}  // namespace lwsvm
