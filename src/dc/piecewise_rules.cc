// Pairs through piecewise linear layers: a table by kind.
#include <algorithm>
#include <array>
#include <cmath>

#include "dc/pair_graph.h"
#include "net/layers/activations.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/pooling_layers.h"

namespace lwsvm {
namespace {

//   ( a+ c + (1-a)+ m,  d + (-a)+ c + (a-1)+ m ),  m = max(c, d)
Pair sloped(PairGraph& to, const Pair& in, const std::vector<float>& slopes) {
  std::vector<float> keep_c, give_m, shift_c, shift_m;
  for (float a : slopes) {
    keep_c.push_back(std::max(a, 0.0f));
    give_m.push_back(std::max(1.0f - a, 0.0f));
    shift_c.push_back(std::max(-a, 0.0f));
    shift_m.push_back(std::max(a - 1.0f, 0.0f));
  }
  const int m = to.maximum(in.c, in.d);
  return {to.sum({to.scaled(in.c, keep_c), to.scaled(m, give_m)}),
          to.sum({in.d, to.scaled(in.c, shift_c), to.scaled(m, shift_m)})};
}

Pair through_relu(PairGraph& to, const Node&, const std::vector<Pair>& in) {
  return sloped(to, in[0], {0.0f});
}

Pair through_abs(PairGraph& to, const Node&, const std::vector<Pair>& in) {
  return sloped(to, in[0], {-1.0f});
}

Pair through_leaky_relu(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  return sloped(to, in[0], {static_cast<const LeakyReluLayer&>(*node.layer).slope()});
}

Pair through_prelu(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  return sloped(to, in[0], to.parameters_of(node));
}

Pair through_clip(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  const auto& layer = static_cast<const ClipLayer&>(*node.layer);
  Pair out = in[0];
  // Clip at one side only where the other is infinite.
  if (std::isfinite(layer.low()) && std::isfinite(layer.high()))
    return {to.shifted(to.maximum(to.shifted(in[0].c, -layer.low()), in[0].d), layer.low()),
            to.maximum(to.shifted(in[0].c, -layer.high()), in[0].d)};
  if (std::isfinite(layer.low())) {
    out.c = to.shifted(to.maximum(to.shifted(in[0].c, -layer.low()), in[0].d), layer.low());
    return out;
  }
  if (std::isfinite(layer.high())) {  // min(u, hi) = u - relu(u - hi) = c - max(c - hi, d)
    out.d = to.maximum(to.shifted(in[0].c, -layer.high()), in[0].d);
    return out;
  }
  return out;
}

Pair through_max_pool(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  const auto& layer = static_cast<const MaxPoolLayer&>(*node.layer);
  const int top = to.add_free(node.layer, {to.difference(in[0].c, in[0].d)});
  if (in[0].d == kNone) return {top, kNone};
  const int total = to.add(std::make_shared<SumPoolLayer>(layer.window()), {in[0].d});
  return {to.sum({top, total}), total};
}

Pair through_global_max_pool(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  const int top = to.add_free(node.layer, {to.difference(in[0].c, in[0].d)});
  if (in[0].d == kNone) return {top, kNone};
  const Shape& shape = to.graph().node(in[0].d).shape;
  const int mean = to.add(std::make_shared<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average), {in[0].d});
  const int total = to.scaled(mean, {static_cast<float>(shape[1] * shape[2])});
  return {to.sum({top, total}), total};
}

Pair extreme(PairGraph& to, const std::vector<Pair>& in, bool minimum) {
  int Pair::*const up = minimum ? &Pair::d : &Pair::c;
  int Pair::*const down = minimum ? &Pair::c : &Pair::d;
  std::vector<int> rivals, totals;
  for (std::size_t k = 0; k < in.size(); ++k) {
    std::vector<int> terms{in[k].*up};
    for (std::size_t j = 0; j < in.size(); ++j)
      if (j != k) terms.push_back(in[j].*down);
    int rival = to.sum(terms);
    if (rival == kNone) rival = to.zeros(in[k].c);
    rivals.push_back(rival);
    totals.push_back(in[k].*down);
  }
  const int top = to.add_free(std::make_shared<MaximumLayer>(), rivals), total = to.sum(totals);
  return minimum ? Pair{total, top} : Pair{top, total};
}

Pair through_max(PairGraph& to, const Node&, const std::vector<Pair>& in) {
  return extreme(to, in, false);
}

Pair through_min(PairGraph& to, const Node&, const std::vector<Pair>& in) {
  return extreme(to, in, true);
}

constexpr auto kPiecewiseRules = std::to_array<PairRule>({
    {LayerKind::abs, through_abs},
    {LayerKind::clip, through_clip},
    {LayerKind::global_max_pool, through_global_max_pool},
    {LayerKind::leaky_relu, through_leaky_relu},
    {LayerKind::max, through_max},
    {LayerKind::max_pool, through_max_pool},
    {LayerKind::min, through_min},
    {LayerKind::prelu, through_prelu},
    {LayerKind::relu, through_relu},
});

}  // namespace

std::span<const PairRule> piecewise_rules() {
  return kPiecewiseRules;
}

}  // namespace lwsvm
