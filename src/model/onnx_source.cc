#include "model/onnx_source.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>

#include "base/error.h"
#include "model/onnx_reals.h"
#include "model/storage.h"

namespace lwsvm {
namespace {

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

void collect(onnx::GraphProto& graph, std::vector<onnx::TensorProto*>& tensors) {
  for (auto& tensor : *graph.mutable_initializer()) tensors.push_back(&tensor);
  for (auto& node : *graph.mutable_node())
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) tensors.push_back(attribute.mutable_t());
      for (auto& tensor : *attribute.mutable_tensors()) tensors.push_back(&tensor);
      if (attribute.has_g()) collect(*attribute.mutable_g(), tensors);
      for (auto& inner : *attribute.mutable_graphs()) collect(inner, tensors);
    }
}

std::span<const float> numbers_of(const StoredParameter& stored, const Graph& graph) {
  const auto& store = stored.statistic ? graph.statistics() : graph.parameters();
  LWSVM_CHECK(static_cast<std::size_t>(stored.range.end()) <= store.size());
  return {store.data() + stored.range.begin, static_cast<std::size_t>(stored.range.size)};
}

// What the file as read gives for this parameter.
std::vector<float> values_as_read(const StoredParameter& stored) {
  if (!stored.origin.known()) return stored.computed;
  const std::vector<float> numbers = reals_of(*stored.origin.tensor);
  std::vector<float> values(static_cast<std::size_t>(stored.range.size));
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = stored.origin.value_of(numbers[stored.origin.index(k)]);
  return values;
}

// `target` is null if there is no origin.
void put(const StoredParameter& stored, std::span<const float> values, onnx::TensorProto* target) {
  const std::vector<float> before = values_as_read(stored);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (same_bits(before[k], values[k])) continue;
    if (!stored.obstacle.empty())
      fail("onnx", "layer '{}' was changed, but it cannot be written: {}", stored.layer, stored.obstacle);
    set_real(*target, stored.origin.index(k), stored.origin.stored_for(values[k]));
  }
}

}  // namespace

std::vector<onnx::TensorProto*> all_tensors(onnx::ModelProto& proto) {
  std::vector<onnx::TensorProto*> tensors;
  collect(*proto.mutable_graph(), tensors);
  return tensors;
}

onnx::ModelProto with_parameters(const OnnxSource& source, const Graph& graph) {
  onnx::ModelProto result = source.proto;
  const auto targets = all_tensors(result);
  std::unordered_map<const onnx::TensorProto*, onnx::TensorProto*> copies{{nullptr, nullptr}};
  for (std::size_t i = 0; i < targets.size(); ++i) copies.emplace(source.tensors[i], targets[i]);
  for (const StoredParameter& stored : source.parameters)
    put(stored, numbers_of(stored, graph), copies.at(stored.origin.tensor));
  return result;
}

std::string why_not_storable(const Model& model, int node) {
  if (!model.source) return "";
  const Node& layer = model.graph.node(node);
  for (const StoredParameter& stored : model.source->parameters) {
    const ParameterRange& all = stored.statistic ? layer.statistics : layer.trained;
    const bool ours = stored.range.begin >= all.begin && stored.range.end() <= all.end();
    if (ours && !stored.obstacle.empty()) return stored.obstacle;
  }
  return "";
}

bool round_to_storage(const Model& model, int node, std::span<float> weights) {
  if (!model.source) return false;
  const ParameterRange& trained = model.graph.node(node).trained;
  bool rounded = false;
  for (const StoredParameter& stored : model.source->parameters) {
    const std::int64_t begin = stored.range.begin - trained.begin;
    const bool ours = !stored.statistic && begin >= 0 && stored.range.end() <= trained.end();
    if (!ours || !stored.origin.known() || stored.origin.exact()) continue;
    for (float& value :
         weights.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(stored.range.size))) {
      const float nearest = stored.origin.nearest(value);
      rounded = rounded || !same_bits(nearest, value);
      value = nearest;
    }
  }
  return rounded;
}

void round_to_storage(Model& model) {
  if (!model.source) return;
  for (const StoredParameter& stored : model.source->parameters) {
    if (!stored.origin.known() || stored.origin.exact()) continue;
    auto& store = stored.statistic ? model.graph.statistics() : model.graph.parameters();
    const auto begin = store.begin() + stored.range.begin;
    std::transform(begin, begin + stored.range.size, begin,
                   [&](float value) { return stored.origin.nearest(value); });
  }
}

}  // namespace lwsvm
