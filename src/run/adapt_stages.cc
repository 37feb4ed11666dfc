#include "run/adapt_stages.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"
#include "dc/tail.h"
#include "model/storage.h"
#include "net/layers/arithmetic_layers.h"

namespace lwsvm::run {
namespace {

constexpr double kMaxShareOfWork = 1.0 / 3;

// Layers that can be opened and written back, the last one first.
std::vector<int> usable_layers(const Model& model) {
  std::vector<int> layers;
  for (const int node : refinable_layers(model.graph))
    if (why_not_storable(model, node).empty()) layers.push_back(node);
  std::reverse(layers.begin(), layers.end());
  return layers;
}

}  // namespace

Depth parse_depth(const std::string& word) {
  if (word == "head") return Depth::head;
  if (word == "auto") return Depth::automatic;
  if (word == "all") return Depth::all;
  fail_unknown("adapt", "depth", word, std::vector<std::string>{"head", "auto", "all"});
}

int choose_cut(const Model& model, int head, Depth depth, std::int64_t samples, std::uint64_t memory) {
  const Graph& graph = model.graph;
  const std::vector<int> layers = usable_layers(model);
  const std::vector<int> all = waists(graph);
  const auto last_before = [&](int node) {
    int found = all.front();
    for (const int waist : all)
      if (waist < node) found = waist;
    return found;
  };
  const int at_head = last_before(head);
  if (depth == Depth::head || layers.empty()) return at_head;
  if (depth == Depth::all) return last_before(layers.back());
  const double total = static_cast<double>(graph.flops());
  double work = 0;
  int cut = at_head, node = graph.scores();
  for (const int layer : layers) {
    const int waist = last_before(layer);
    for (; node > waist; --node) work += static_cast<double>(graph.flops(node));
    const auto bytes =
        static_cast<std::uint64_t>(samples * element_count(graph.node(waist).shape)) * sizeof(float);
    if (work > kMaxShareOfWork * total) break;
    if (bytes <= memory / 2) cut = std::min(cut, waist);
  }
  return cut;
}

std::vector<std::vector<int>> plan_stages(const Model& model, const NetworkTail& tail, int head,
                                          Depth depth) {
  if (depth == Depth::head) return {};
  std::vector<int> layers{tail.tail_node(head)};
  for (const int node : usable_layers(model))
    if (node != head && node > tail.from) layers.push_back(tail.tail_node(node));
  if (layers.size() < 2) return {};
  if (depth == Depth::all) return {layers};
  std::vector<std::vector<int>> stages;
  for (std::size_t count = 2; count < 2 * layers.size(); count *= 2)
    stages.emplace_back(layers.begin(),
                        layers.begin() + static_cast<std::ptrdiff_t>(std::min(count, layers.size())));
  return stages;
}

StageNetwork stage_network(const NetworkTail& tail, int head, std::span<const int> layers,
                           std::span<const float> start, double head_lambda) {
  constexpr double move_cost = 0.08;  // as in refine_choices.cc
  double half_square = 0;
  for (const int node : layers) {
    if (node == head) continue;
    const ParameterRange range = tail.graph.node(node).trained;
    for (std::int64_t i = range.begin; i < range.end(); ++i)
      half_square +=
          0.5 * static_cast<double>(start[static_cast<std::size_t>(i)]) * start[static_cast<std::size_t>(i)];
  }
  StageNetwork stage;
  const double wanted = std::clamp(move_cost / std::max(half_square, 1e-30), 1e-6, 1.0);
  stage.scale = std::exp2(std::round(0.5 * std::log2(wanted / head_lambda)));
  stage.lambda = head_lambda * stage.scale * stage.scale;

  LWSVM_CHECK(head == tail.graph.scores() && head + 1 == static_cast<int>(tail.graph.nodes().size()));
  for (int i = 0; i < head; ++i) {
    const Node& node = tail.graph.node(i);
    if (node.is_input())
      stage.graph.add_input(node.name, node.shape);
    else
      stage.graph.add(node.name, node.layer, node.inputs);
  }
  const Node& last = tail.graph.node(head);
  const int features =
      stage.graph.add("lwsvm.scale",
                      std::make_shared<NormalizeLayer>(
                          std::vector<float>{0.0f}, std::vector<float>{static_cast<float>(1 / stage.scale)}),
                      {last.inputs[0]});
  stage.head = stage.graph.add(last.name, last.layer, {features});
  stage.graph.statistics() = tail.graph.statistics();
  stage.take(tail.graph);
  return stage;
}

std::vector<float> StageNetwork::scaled(std::vector<float> parameters) const {
  const Node& node = graph.node(head);
  for (const Parameter& parameter : node.parameters)
    if (parameter.role == Role::weight)
      for (std::int64_t i = parameter.range.begin; i < parameter.range.end(); ++i)
        parameters[static_cast<std::size_t>(i)] /= static_cast<float>(scale);
  return parameters;
}

void StageNetwork::take(const Graph& tail) {
  graph.parameters() = scaled(tail.parameters());
}

void StageNetwork::put_back(Graph& tail) const {
  tail.parameters() = graph.parameters();
  for (const Parameter& parameter : graph.node(head).parameters)
    if (parameter.role == Role::weight)
      for (std::int64_t i = parameter.range.begin; i < parameter.range.end(); ++i)
        tail.parameters()[static_cast<std::size_t>(i)] *= static_cast<float>(scale);
}

}  // namespace lwsvm::run
