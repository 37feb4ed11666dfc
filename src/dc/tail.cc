#include "dc/tail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

void copy_parameters(const Graph& from, const Node& source, Graph& to, const Node& target) {
  std::copy_n(from.parameters().begin() + source.trained.begin, source.trained.size,
              to.parameters().begin() + target.trained.begin);
  std::copy_n(from.statistics().begin() + source.statistics.begin, source.statistics.size,
              to.statistics().begin() + target.statistics.begin);
}

}  // namespace

std::vector<bool> dependents(const Graph& network, int node) {
  std::vector<bool> depends(network.nodes().size(), false);
  depends[static_cast<std::size_t>(node)] = true;
  for (std::size_t i = static_cast<std::size_t>(node) + 1; i < depends.size(); ++i)
    for (int input : network.nodes()[i].inputs)
      if (depends[static_cast<std::size_t>(input)]) depends[i] = true;
  return depends;
}

std::vector<bool> needed_for_scores(const Graph& network) {
  std::vector<bool> needed(network.nodes().size(), false);
  const int scores = network.scores();
  needed[static_cast<std::size_t>(scores)] = true;
  for (int i = scores; i >= 0; --i)
    if (needed[static_cast<std::size_t>(i)])
      for (int input : network.node(i).inputs) needed[static_cast<std::size_t>(input)] = true;
  return needed;
}

std::vector<bool> on_the_way_to_scores(const Graph& network, int node) {
  std::vector<bool> on_way = dependents(network, node);
  const std::vector<bool> needed = needed_for_scores(network);
  for (std::size_t i = 0; i < on_way.size(); ++i) on_way[i] = on_way[i] && needed[i];
  return on_way;
}

std::string why_not_refinable(const Graph& network, int node) {
  if (!network.node(node).has_weights()) return fmt::format("'{}' has no weights", network.node(node).name);
  const std::vector<bool> depends = on_the_way_to_scores(network, node);
  const int scores = network.scores();
  if (!depends[static_cast<std::size_t>(scores)])
    return fmt::format("the scores do not depend on '{}'", network.node(node).name);
  for (int i = node + 1; i <= scores; ++i)
    if (depends[static_cast<std::size_t>(i)] && network.node(i).layer->linearity() == Linearity::neither)
      return fmt::format("'{}' after it is a {}, which is not piecewise linear", network.node(i).name,
                         to_string(network.node(i).layer->kind()));
  return {};
}

std::vector<int> refinable_layers(const Graph& network) {
  std::vector<int> layers;
  for (int i = 0; i < static_cast<int>(network.nodes().size()); ++i)
    if (network.node(i).has_weights() && why_not_refinable(network, i).empty()) layers.push_back(i);
  return layers;
}

Tail cut_tail(const Graph& network, int open_node) {
  if (const std::string reason = why_not_refinable(network, open_node); !reason.empty()) {
    std::vector<std::string> names;
    for (int layer : refinable_layers(network)) names.push_back(network.node(layer).name);
    fail("refine", "layer '{}' cannot be refined: {}; layers that can: {}", network.node(open_node).name,
         reason, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ",")));
  }
  const std::vector<bool> depends = on_the_way_to_scores(network, open_node);
  const int scores = network.scores();
  Tail tail;
  tail.open_node = open_node;
  std::vector<int> place(network.nodes().size(), -1);  // node of the network -> node of the tail
  place[static_cast<std::size_t>(open_node)] =
      tail.graph.add_input(network.node(open_node).name, network.node(open_node).shape);
  for (int i = open_node + 1; i <= scores; ++i) {  // the frontier first: inputs precede all layers
    if (!depends[static_cast<std::size_t>(i)]) continue;
    for (int input : network.node(i).inputs) {
      const auto at = static_cast<std::size_t>(input);
      if (depends[at] || place[at] >= 0) continue;
      place[at] = tail.graph.add_input(network.node(input).name, network.node(input).shape);
      tail.frontier.push_back(input);
    }
  }
  for (int i = open_node + 1; i <= scores; ++i) {
    if (!depends[static_cast<std::size_t>(i)]) continue;
    const Node& node = network.node(i);
    std::vector<int> inputs;
    for (int input : node.inputs) inputs.push_back(place[static_cast<std::size_t>(input)]);
    if (node.layer->kind() == LayerKind::dropout) {
      place[static_cast<std::size_t>(i)] = inputs[0];
      continue;
    }
    const int added = tail.graph.add(node.name, node.layer, inputs);
    copy_parameters(network, node, tail.graph, tail.graph.node(added));
    place[static_cast<std::size_t>(i)] = added;
  }
  tail.graph.set_output(place[static_cast<std::size_t>(scores)]);
  return tail;
}

}  // namespace lwsvm
