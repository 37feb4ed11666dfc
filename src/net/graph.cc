#include "net/graph.h"

#include <algorithm>

#include "base/error.h"
#include "net/layers/shape_layers.h"
#include "net/layers/softmax_layer.h"

namespace lwsvm {

bool Node::has_weights() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const auto& p) { return p.role == Role::weight; });
}

int Graph::add_input(std::string name, Shape shape) {
  Node node;
  node.name = std::move(name);
  node.shape = std::move(shape);
  nodes_.push_back(std::move(node));
  output_ = static_cast<int>(nodes_.size()) - 1;
  return output_;
}

int Graph::add(std::string name, std::shared_ptr<const Layer> layer, std::vector<int> inputs) {
  Node node;
  std::vector<Shape> shapes;
  for (int input : inputs) {
    LWSVM_CHECK(input >= 0 && input < static_cast<int>(nodes_.size()));
    shapes.push_back(nodes_[static_cast<std::size_t>(input)].shape);
  }
  try {
    node.shape = layer->infer(shapes);
  } catch (const Error& error) {
    throw Error(fmt::format("{} (layer '{}')", error.what(), name));
  }
  for (std::int64_t size : node.shape)
    if (size <= 0) fail("net", "layer '{}' would have the empty shape {}", name, to_string(node.shape));

  node.trained.begin = static_cast<std::int64_t>(parameters_.size());
  node.statistics.begin = static_cast<std::int64_t>(statistics_.size());
  for (auto& spec : layer->parameters()) {
    const bool statistic = spec.role == Role::statistic;
    auto& store = statistic ? statistics_ : parameters_;
    const std::int64_t size = element_count(spec.shape);
    node.parameters.push_back(
        {spec.name, spec.shape, spec.role, {static_cast<std::int64_t>(store.size()), size}});
    store.resize(store.size() + static_cast<std::size_t>(size), 0.0f);
  }
  node.trained.size = static_cast<std::int64_t>(parameters_.size()) - node.trained.begin;
  node.statistics.size = static_cast<std::int64_t>(statistics_.size()) - node.statistics.begin;
  node.name = std::move(name);
  node.layer = std::move(layer);
  node.inputs = std::move(inputs);
  nodes_.push_back(std::move(node));
  output_ = static_cast<int>(nodes_.size()) - 1;
  return output_;
}

int Graph::scores() const {
  int found = output_;
  for (int at = output_; !node(at).is_input() && node(at).inputs.size() == 1; at = node(at).inputs[0]) {
    const Layer& layer = *node(at).layer;
    if (is_head(layer))
      found = node(at).inputs[0];
    else if (!dynamic_cast<const ReshapeLayer*>(&layer) && !dynamic_cast<const FlattenLayer*>(&layer))
      break;
  }
  return found;
}

std::vector<int> Graph::inputs() const {
  std::vector<int> found;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].is_input()) found.push_back(static_cast<int>(i));
  return found;
}

std::optional<int> Graph::find(const std::string& name) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].name == name) return static_cast<int>(i);
  return std::nullopt;
}

std::vector<int> Graph::consumers(int node) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (std::count(nodes_[i].inputs.begin(), nodes_[i].inputs.end(), node) > 0)
      found.push_back(static_cast<int>(i));
  return found;
}

std::int64_t Graph::flops() const {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) total += flops(static_cast<int>(i));
  return total;
}

std::int64_t Graph::flops(int index) const {
  const Node& node = this->node(index);
  if (node.is_input()) return 0;
  std::vector<Shape> shapes;
  for (int input : node.inputs) shapes.push_back(this->node(input).shape);
  return node.layer->flops(shapes, node.shape);
}

std::vector<std::uint8_t> Graph::regularised_mask() const {
  std::vector<std::uint8_t> mask(parameters_.size(), 0);
  for (const Node& node : nodes_)
    for (const Parameter& parameter : node.parameters)
      if (parameter.role == Role::weight || parameter.role == Role::bias)
        std::fill_n(mask.begin() + parameter.range.begin, parameter.range.size, std::uint8_t{1});
  return mask;
}

}  // namespace lwsvm
