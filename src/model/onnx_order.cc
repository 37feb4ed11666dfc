#include "model/onnx_order.h"

#include <functional>
#include <queue>

namespace lwsvm {

Producers find_producers(const ImportState& state, const onnx::GraphProto& graph) {
  Producers producers;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string& output : graph.node(i).output()) {
      if (output.empty()) continue;
      if (state.values.contains(output) || !producers.emplace(output, i).second)
        state.fail("two nodes make the value '{}'", output);
    }
  for (const auto& input : graph.input())
    if (producers.contains(input.name()))
      state.fail("a node makes the value '{}', which is an input", input.name());
  return producers;
}

NeededNodes needed_for(const std::string& output, const onnx::GraphProto& graph, const Producers& producers) {
  NeededNodes needed;
  needed.nodes.assign(static_cast<std::size_t>(graph.node_size()), false);
  std::vector<std::string> open{output};
  const auto visit = [&](const std::string& name) {
    const auto found = producers.find(name);
    if (found == producers.end()) {
      needed.inputs.insert(name);
      return;
    }
    const auto node = static_cast<std::size_t>(found->second);
    if (needed.nodes[node]) return;
    needed.nodes[node] = true;
    for (const std::string& input : graph.node(found->second).input())
      if (!input.empty()) open.push_back(input);
  };
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    visit(name);
  }
  return needed;
}

std::vector<int> run_order(ImportState& state, const onnx::GraphProto& graph, const Producers& producers,
                           const std::vector<bool>& needed) {
  std::vector<int> waits(static_cast<std::size_t>(graph.node_size()), 0);
  std::unordered_map<std::string, std::vector<int>> waiting;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  std::size_t total = 0;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (!needed[static_cast<std::size_t>(i)]) continue;
    ++total;
    const onnx::NodeProto& node = graph.node(i);
    for (const std::string& input : node.input()) {
      if (input.empty()) continue;
      state.readers[input].push_back(&node);
      if (producers.contains(input)) {
        waiting[input].push_back(i);
        ++waits[static_cast<std::size_t>(i)];
      } else if (!state.values.contains(input)) {
        NodeImport(state, node)
            .fail("its input '{}' is made by no node, and is neither an initialiser nor an input", input);
      }
    }
    if (waits[static_cast<std::size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (const std::string& output : graph.node(i).output()) {
      const auto found = waiting.find(output);
      if (found == waiting.end()) continue;
      for (int reader : found->second)
        if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (order.size() == total) return order;
  for (int i = 0; i < graph.node_size(); ++i)
    if (needed[static_cast<std::size_t>(i)] && waits[static_cast<std::size_t>(i)] > 0)
      NodeImport(state, graph.node(i)).fail("it depends on its own output: the network has a cycle");
  return order;
}

}  // namespace lwsvm
