#include "lwsvm/network_tail.h"

#include <algorithm>

#include "base/error.h"
#include "dc/tail.h"

namespace lwsvm {

std::vector<int> waists(const Graph& network) {
  const std::vector<bool> needed = needed_for_scores(network);
  std::vector<int> found;
  // After a node that everything goes through nobody reads a value from before it.
  int earliest_read = network.scores();
  for (int node = network.scores(); node >= 0; --node) {
    if (!needed[static_cast<std::size_t>(node)]) continue;
    if (earliest_read >= node) found.push_back(node);
    for (const int input : network.node(node).inputs) earliest_read = std::min(earliest_read, input);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

NetworkTail make_tail(const Graph& network, int from) {
  const std::vector<bool> needed = needed_for_scores(network);
  NetworkTail tail;
  tail.from = from;
  std::vector<int> copy_of(network.nodes().size(), -1);
  copy_of[static_cast<std::size_t>(from)] =
      tail.graph.add_input(network.node(from).name, network.node(from).shape);
  tail.node_of.push_back(from);
  for (int i = from + 1; i <= network.scores(); ++i) {
    if (!needed[static_cast<std::size_t>(i)]) continue;
    const Node& node = network.node(i);
    std::vector<int> inputs;
    for (const int input : node.inputs) inputs.push_back(copy_of[static_cast<std::size_t>(input)]);
    LWSVM_CHECK(std::ranges::find(inputs, -1) == inputs.end());
    copy_of[static_cast<std::size_t>(i)] = tail.graph.add(node.name, node.layer, std::move(inputs));
    tail.node_of.push_back(i);
  }
  tail.graph.set_output(copy_of[static_cast<std::size_t>(network.scores())]);
  tail.take(network);
  for (std::size_t i = 1; i < tail.node_of.size(); ++i) {
    const Node& here = tail.graph.node(static_cast<int>(i));
    const Node& there = network.node(tail.node_of[i]);
    std::copy_n(network.statistics().begin() + there.statistics.begin, there.statistics.size,
                tail.graph.statistics().begin() + here.statistics.begin);
  }
  return tail;
}

int NetworkTail::tail_node(int network_node) const {
  const auto found = std::ranges::find(node_of, network_node);
  LWSVM_CHECK(found != node_of.end());
  return static_cast<int>(found - node_of.begin());
}

void NetworkTail::put_back(Graph& network) const {
  for (std::size_t i = 1; i < node_of.size(); ++i) {
    const ParameterRange here = graph.node(static_cast<int>(i)).trained;
    const ParameterRange there = network.node(node_of[i]).trained;
    std::copy_n(graph.parameters().begin() + here.begin, here.size,
                network.parameters().begin() + there.begin);
  }
}

void NetworkTail::take(const Graph& network) {
  for (std::size_t i = 1; i < node_of.size(); ++i) {
    const ParameterRange here = graph.node(static_cast<int>(i)).trained;
    const ParameterRange there = network.node(node_of[i]).trained;
    std::copy_n(network.parameters().begin() + there.begin, there.size,
                graph.parameters().begin() + here.begin);
  }
}

}  // namespace lwsvm
