#include "dc/pair_graph.h"

#include <algorithm>

#include "base/error.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

std::vector<float> positive(const std::vector<float>& values, float sign) {
  std::vector<float> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(),
                 [sign](float v) { return std::max(sign * v, 0.0f); });
  return result;
}

bool any_nonzero(const std::vector<float>& values) {
  return std::any_of(values.begin(), values.end(), [](float v) { return v != 0.0f; });
}

}  // namespace

int PairGraph::add(std::shared_ptr<const Layer> layer, std::vector<int> inputs) {
  return graph().add(fmt::format("dc{}", counter_++), std::move(layer), std::move(inputs));
}

int PairGraph::add_with(std::shared_ptr<const Layer> layer, int input, const std::vector<float>& parameters) {
  const int node = add(std::move(layer), {input});
  LWSVM_CHECK(graph().node(node).trained.size == static_cast<std::int64_t>(parameters.size()));
  std::copy(parameters.begin(), parameters.end(),
            graph().parameters().begin() + graph().node(node).trained.begin);
  return node;
}

int PairGraph::add_free(std::shared_ptr<const Layer> layer, std::vector<int> inputs) {
  const int node = add(std::move(layer), std::move(inputs));
  result_.free_nodes.push_back(node);
  return node;
}

int PairGraph::sum(const std::vector<int>& terms) {
  std::vector<int> present;
  for (int term : terms)
    if (term != kNone) present.push_back(term);
  if (present.empty()) return kNone;
  return present.size() == 1 ? present[0] : add(std::make_shared<AddLayer>(), present);
}

int PairGraph::difference(int a, int b) {
  return b == kNone ? a : add(std::make_shared<SubtractLayer>(), {a, b});
}
int PairGraph::maximum(int a, int b) {
  if (b == kNone) return add_free(std::make_shared<ReluLayer>(), {a});
  if (a == kNone) return add_free(std::make_shared<ReluLayer>(), {b});
  return add_free(std::make_shared<MaximumLayer>(), {a, b});
}

int PairGraph::shifted(int node, float offset) {
  return offset == 0.0f
             ? node
             : add(std::make_shared<AffineLayer>(std::vector<float>{}, std::vector<float>{offset}), {node});
}

int PairGraph::scaled(int node, const std::vector<float>& factors) {
  if (node == kNone || !any_nonzero(factors)) return kNone;
  if (std::all_of(factors.begin(), factors.end(), [](float f) { return f == 1.0f; })) return node;
  return add(std::make_shared<AffineLayer>(factors, std::vector<float>{}), {node});
}

int PairGraph::as_vector(int node) {
  return graph().node(node).shape.size() == 1 ? node : add(std::make_shared<FlattenLayer>(), {node});
}

std::vector<float> PairGraph::parameters_of(const Node& node) const {
  const auto begin = tail_.parameters().begin() + node.trained.begin;
  return {begin, begin + node.trained.size};
}

Pair PairGraph::signed_split(const Pair& in, const std::vector<float>& weights, const MakeLinear& make) {
  const std::vector<float> plus = positive(weights, 1.0f), minus = positive(weights, -1.0f);
  const bool has_minus = any_nonzero(minus);
  Pair out;
  out.c = sum({make(in.c, plus, true), in.d != kNone && has_minus ? make(in.d, minus, false) : kNone});
  out.d =
      sum({has_minus ? make(in.c, minus, false) : kNone, in.d != kNone ? make(in.d, plus, false) : kNone});
  return out;
}

int PairGraph::zeros(int like) {
  return add(std::make_shared<AffineLayer>(std::vector<float>{0.0f}, std::vector<float>{}), {like});
}

}  // namespace lwsvm
