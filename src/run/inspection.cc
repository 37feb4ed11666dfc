#include "run/inspection.h"

#include <algorithm>

#include "model/storage.h"
#include "net/layers/arithmetic_layers.h"
#include "run/model_input.h"

namespace lwsvm::run {
namespace {

std::optional<Refinable> examine(const Model& model, int node, std::int64_t samples, std::uint64_t memory) {
  if (!model.graph.node(node).has_weights()) return {};
  Refinable result;
  result.obstacle = why_not_refined(model, node);
  if (!result.obstacle.empty()) return result;
  LayerProblemOptions options;
  options.memory = memory;
  options.free_layers = automatic_free_layers(model.graph, node, samples, memory);
  result.memory = memory_of(model.graph, node, samples, options);
  return result;
}

bool normalises_itself(const Graph& graph) {
  for (int input : graph.inputs())
    for (int reader : graph.consumers(input))
      if (dynamic_cast<const NormalizeLayer*>(graph.node(reader).layer.get())) return true;
  return false;
}

}  // namespace

std::string why_not_refined(const Model& model, int node) {
  const std::string obstacle = why_not_refinable(model.graph, node);
  return obstacle.empty() ? why_not_storable(model, node) : obstacle;
}

std::string expected_input(const Model& model) {
  const Shape& shape = model.graph.node(model.graph.inputs()[0]).shape;
  if (!model.info.input.empty()) return model.info.input;
  std::string order;
  if (shape.size() == 1) order = ", a list of pixels";
  if (shape.size() == 3) order = shape[0] <= 4 ? ", channels first" : shape[2] <= 4 ? ", channels last" : "";
  const auto normalized = model.info.metadata.find(kNormalizeKey);
  const std::string pixels =
      normalized != model.info.metadata.end() ? "normalised by " + normalized->second
      : normalises_itself(model.graph)
          ? "which it normalises itself"
          : "normalised in a way that the file does not tell (eval and refine try, or see --normalize)";
  return fmt::format("{}{}; pixels {}", to_string(shape), order, pixels);
}

Inspection inspect_network(const Model& model, std::int64_t samples, std::uint64_t memory) {
  Inspection found;
  std::vector<int> refinable;
  found.summary = describe(model.graph);
  for (std::size_t i = 0; i < found.summary.nodes.size(); ++i) {
    found.layers.push_back(examine(model, static_cast<int>(i), samples, memory));
    if (!found.layers.back()) continue;
    ++found.weighted;
    if (!found.layers.back()->obstacle.empty()) continue;
    ++found.refinable;
    refinable.push_back(static_cast<int>(i));
    found.largest = std::max(found.largest, found.layers.back()->memory.total());
  }
  if (!refinable.empty()) found.sweeps = sweep_bytes(model.graph, refinable);
  return found;
}

}  // namespace lwsvm::run
