// Pairs through linear layers: a table by kind.
#include <algorithm>
#include <array>
#include <cmath>

#include "dc/pair_graph.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

// Conv and Dense: `make_layer` gives the layer again, with or without a bias.
template <typename MakeLayer>
Pair weighted(PairGraph& to, const Node& node, const Pair& in, const MakeLayer& make_layer) {
  std::vector<float> all = to.parameters_of(node);
  const std::int64_t weight_count = node.parameters[0].range.size;
  const std::vector<float> weights(all.begin(), all.begin() + weight_count);
  return to.signed_split(in, weights, [&](int input, const std::vector<float>& values, bool constant) {
    std::vector<float> parameters = values;
    if (constant) parameters.insert(parameters.end(), all.begin() + weight_count, all.end());
    const bool bias = constant && static_cast<std::int64_t>(all.size()) > weight_count;
    return to.add_with(make_layer(bias), input, parameters);
  });
}

Pair through_dense(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  const auto& layer = static_cast<const DenseLayer&>(*node.layer);
  return weighted(to, node, in[0], [&](bool bias) {
    return std::make_shared<DenseLayer>(layer.in_features(), layer.out_features(), bias);
  });
}

Pair through_convolution(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  return weighted(to, node, in[0], [&](bool bias) {
    ConvolutionSpec spec = static_cast<const ConvolutionLayer&>(*node.layer).spec();
    spec.bias = bias;
    return std::make_shared<ConvolutionLayer>(spec);
  });
}

Pair through_batch_norm(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  const auto& layer = static_cast<const BatchNormLayer&>(*node.layer);
  const float* trained = to.tail().parameters().data() + node.trained.begin;
  const float* averages = to.tail().statistics().data() + node.statistics.begin;
  const std::int64_t channels = layer.channels();
  std::vector<float> scale, offset;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double factor = trained[c] / std::sqrt(static_cast<double>(averages[channels + c]) +
                                                 static_cast<double>(layer.epsilon()));
    scale.push_back(static_cast<float>(factor));
    offset.push_back(static_cast<float>(trained[channels + c] - factor * static_cast<double>(averages[c])));
  }
  return to.signed_split(in[0], scale, [&](int input, const std::vector<float>& factors, bool constant) {
    return to.add(std::make_shared<AffineLayer>(factors, constant ? offset : std::vector<float>{}), {input});
  });
}

Pair through_affine(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  const auto& layer = static_cast<const AffineLayer&>(*node.layer);
  return to.signed_split(
      in[0], layer.scale(), [&](int input, const std::vector<float>& scale, bool constant) {
        return to.add(std::make_shared<AffineLayer>(scale, constant ? layer.offset() : std::vector<float>{}),
                      {input});
      });
}

Pair through_normalize(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  const auto& layer = static_cast<const NormalizeLayer&>(*node.layer);
  std::vector<float> factors;
  for (float deviation : layer.deviation()) factors.push_back(1.0f / deviation);
  const int centred = to.add(std::make_shared<NormalizeLayer>(layer.mean(), std::vector<float>{}), {in[0].c});
  return to.signed_split({centred, in[0].d, false}, factors,
                         [&](int input, const std::vector<float>& scale, bool) {
                           return to.add(std::make_shared<AffineLayer>(scale, std::vector<float>{}), {input});
                         });
}

Pair through_subtraction(PairGraph& to, const Node&, const std::vector<Pair>& in) {
  return {to.sum({in[0].c, in[1].d}), to.sum({in[0].d, in[1].c})};
}

Pair through_addition(PairGraph& to, const Node&, const std::vector<Pair>& in) {
  std::vector<int> c, d;
  for (const Pair& p : in) {
    c.push_back(p.c);
    d.push_back(p.d);
  }
  return {to.sum(c), to.sum(d)};
}

// A branch without a d stands beside branches that have one: zeros of its shape.
Pair through_concat(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  std::vector<int> c, d;
  const bool any = std::any_of(in.begin(), in.end(), [](const Pair& p) { return p.d != kNone; });
  for (const Pair& p : in) {
    c.push_back(p.c);
    if (any) d.push_back(p.d != kNone ? p.d : to.zeros(p.c));
  }
  return {to.add(node.layer, c), any ? to.add(node.layer, d) : kNone};
}

Pair through_pad(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  const auto& layer = static_cast<const PadLayer&>(*node.layer);
  Pair out;
  out.c = to.add(node.layer, {in[0].c});
  if (in[0].d != kNone)
    out.d = to.add(std::make_shared<PadLayer>(layer.before(), layer.after(), 0.0f), {in[0].d});
  return out;
}

// The same layer on c and on d, where it multiplies by nothing negative and adds nothing: pooling by
// averages, and layers that only move numbers.
Pair through_both(PairGraph& to, const Node& node, const std::vector<Pair>& in) {
  const auto apply = [&](int Pair::*part) {
    std::vector<int> inputs;
    for (const Pair& p : in) {
      if (p.*part == kNone) return kNone;
      inputs.push_back(p.*part);
    }
    return to.add(node.layer, inputs);
  };
  return {apply(&Pair::c), apply(&Pair::d)};
}

constexpr auto kLinearRules = std::to_array<PairRule>({
    {LayerKind::add, through_addition},
    {LayerKind::affine, through_affine},
    {LayerKind::average_pool, through_both},
    {LayerKind::batch_norm, through_batch_norm},
    {LayerKind::concat, through_concat},
    {LayerKind::conv, through_convolution},
    {LayerKind::dense, through_dense},
    {LayerKind::dropout, through_both},
    {LayerKind::flatten, through_both},
    {LayerKind::global_average_pool, through_both},
    {LayerKind::normalize, through_normalize},
    {LayerKind::pad, through_pad},
    {LayerKind::reshape, through_both},
    {LayerKind::resize, through_both},
    {LayerKind::slice, through_both},
    {LayerKind::sub, through_subtraction},
    {LayerKind::sum_pool, through_both},
    {LayerKind::transpose, through_both},
});

}  // namespace

std::span<const PairRule> linear_rules() {
  return kLinearRules;
}

}  // namespace lwsvm
