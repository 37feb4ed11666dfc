#include "net/regulariser.h"

#include <algorithm>

#include "base/error.h"

namespace lwsvm {
namespace {

std::vector<int> weighted_nodes(const Graph& graph) {
  std::vector<int> nodes;
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node)
    if (graph.node(node).has_weights()) nodes.push_back(node);
  return nodes;
}

// Added to one running sum, so that the bits do not depend on how the parameters are cut into layers.
void add_squares(const float* w, const float* centre, std::int64_t count, double& sum) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = centre ? static_cast<double>(w[i]) - static_cast<double>(centre[i]) : w[i];
    sum += value * value;
  }
}

}  // namespace

Regulariser::Regulariser(const Graph& graph, double lambda)
    : Regulariser(graph, lambda, weighted_nodes(graph)) {}

Regulariser::Regulariser(const Graph& graph, double lambda, std::span<const int> layers,
                         std::span<const float> centre)
    : lambda_(lambda) {
  std::vector<int> nodes(layers.begin(), layers.end());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (int node : nodes) {
    if (!graph.node(node).has_weights()) fail("net", "layer '{}' has no weights", graph.node(node).name);
    layers_.push_back({node, graph.node(node).trained, size()});
  }
  if (centre.empty()) return;
  LWSVM_CHECK(centre.size() == graph.parameters().size());
  for (const Layer& layer : layers_) {
    const auto begin = centre.begin() + layer.range.begin;
    centre_.insert(centre_.end(), begin, begin + layer.range.size);
  }
}

double Regulariser::half_square(std::span<const float> parameters) const {
  double sum = 0;
  for (const Layer& layer : layers_)
    add_squares(parameters.data() + layer.range.begin,
                centre_.empty() ? nullptr : centre_.data() + layer.packed, layer.range.size, sum);
  return sum / 2;
}

double Regulariser::layer_half_square(int node, std::span<const float> w) const {
  const Layer& found = layer(node);
  LWSVM_CHECK(std::ssize(w) == found.range.size);
  double sum = 0;
  add_squares(w.data(), centre_.empty() ? nullptr : centre_.data() + found.packed, found.range.size, sum);
  return sum / 2;
}

void Regulariser::gradient(std::span<const float> parameters, std::span<float> gradient) const {
  LWSVM_CHECK(gradient.size() == parameters.size());
  for (const Layer& layer : layers_)
    for (std::int64_t i = 0; i < layer.range.size; ++i) {
      const auto at = static_cast<std::size_t>(layer.range.begin + i);
      const double centre = centre_.empty() ? 0.0 : centre_[static_cast<std::size_t>(layer.packed + i)];
      gradient[at] = static_cast<float>(lambda_ * (parameters[at] - centre));
    }
}

const Regulariser::Layer& Regulariser::layer(int node) const {
  const auto found = std::ranges::find(layers_, node, &Layer::node);
  LWSVM_CHECK(found != layers_.end());
  return *found;
}

bool Regulariser::covers(int node) const {
  return std::ranges::find(layers_, node, &Layer::node) != layers_.end();
}

std::int64_t Regulariser::size() const {
  return layers_.empty() ? 0 : layers_.back().packed + layers_.back().range.size;
}

void Regulariser::set_centre(std::vector<float> centre) {
  LWSVM_CHECK(centre.empty() || std::ssize(centre) == size());
  centre_ = std::move(centre);
}

std::vector<float> Regulariser::layer_centre(int node) const {
  if (centre_.empty()) return {};
  const Layer& found = layer(node);
  const auto begin = centre_.begin() + found.packed;
  return {begin, begin + found.range.size};
}

}  // namespace lwsvm
