#include "dc/decompose.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

constexpr int kNone = -1;

// A value as the difference of two nodes; d = kNone is zero. Affine: linear in the open layer's weights, or
// constant.
struct Pair {
  int c = kNone, d = kNone;
  bool affine = true;
  bool constant = false;  // does not depend on the open layer at all
};

std::vector<float> positive(const std::vector<float>& values, float sign) {
  std::vector<float> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(),
                 [sign](float v) { return std::max(sign * v, 0.0f); });
  return result;
}

bool any_nonzero(const std::vector<float>& values) {
  return std::any_of(values.begin(), values.end(), [](float v) { return v != 0.0f; });
}

// The linear function of a layer with other numbers in the place of its weights, as a new node.
using MakeLinear = std::function<int(int input, const std::vector<float>& weights, bool with_constant)>;

class Decomposer {
 public:
  Decomposer(const Tail& tail, int free_layers, LossSplit split) : tail_(tail.graph), split_(split) {
    const std::vector<int> layers = piecewise_layers(tail);
    const auto frozen = static_cast<std::ptrdiff_t>(layers.size()) - free_layers;
    LWSVM_CHECK(free_layers >= 0 && frozen >= 0);
    frozen_.assign(layers.begin(), layers.begin() + frozen);
    result_.labels_only = free_layers == 0;
  }

  Decomposition run() {
    const std::vector<Node>& nodes = tail_.nodes();
    pairs_.resize(nodes.size());
    for (int i = 0; i <= tail_.output(); ++i) {
      const Node& node = nodes[static_cast<std::size_t>(i)];
      Pair& pair = pairs_[static_cast<std::size_t>(i)];
      if (node.is_input()) {
        pair.c = graph().add_input(node.name, node.shape);
        pair.constant = i != 0;
      } else if (i == tail_.output() && !result_.labels_only) {
        finish(node);
      } else {
        pair = convert(node, i);
      }
    }
    if (result_.labels_only) {
      const int scores = as_vector(pairs_[static_cast<std::size_t>(tail_.output())].c);
      graph().set_output(scores);
      result_.classes = static_cast<int>(element_count(graph().node(scores).shape));
    }
    return std::move(result_);
  }

 private:
  Graph& graph() { return result_.graph; }

  int add(std::shared_ptr<const Layer> layer, std::vector<int> inputs) {
    return graph().add(fmt::format("dc{}", counter_++), std::move(layer), std::move(inputs));
  }
  int add_with(std::shared_ptr<const Layer> layer, int input, const std::vector<float>& parameters) {
    const int node = add(std::move(layer), {input});
    LWSVM_CHECK(graph().node(node).trained.size == static_cast<std::int64_t>(parameters.size()));
    std::copy(parameters.begin(), parameters.end(),
              graph().parameters().begin() + graph().node(node).trained.begin);
    return node;
  }
  int add_free(std::shared_ptr<const Layer> layer, std::vector<int> inputs) {
    const int node = add(std::move(layer), std::move(inputs));
    result_.free_nodes.push_back(node);
    return node;
  }

  // Arithmetic on nodes where `kNone` is zero.
  int sum(const std::vector<int>& terms) {
    std::vector<int> present;
    for (int term : terms)
      if (term != kNone) present.push_back(term);
    if (present.empty()) return kNone;
    return present.size() == 1 ? present[0] : add(std::make_shared<AddLayer>(), present);
  }
  int difference(int a, int b) { return b == kNone ? a : add(std::make_shared<SubtractLayer>(), {a, b}); }
  int maximum(int a, int b) {
    if (b == kNone) return add_free(std::make_shared<ReluLayer>(), {a});
    if (a == kNone) return add_free(std::make_shared<ReluLayer>(), {b});
    return add_free(std::make_shared<MaximumLayer>(), {a, b});
  }
  int shifted(int node, float offset) {
    return offset == 0.0f
               ? node
               : add(std::make_shared<AffineLayer>(std::vector<float>{}, std::vector<float>{offset}), {node});
  }
  int scaled(int node, const std::vector<float>& factors) {
    if (node == kNone || !any_nonzero(factors)) return kNone;
    if (std::all_of(factors.begin(), factors.end(), [](float f) { return f == 1.0f; })) return node;
    return add(std::make_shared<AffineLayer>(factors, std::vector<float>{}), {node});
  }
  int as_vector(int node) {
    return graph().node(node).shape.size() == 1 ? node : add(std::make_shared<FlattenLayer>(), {node});
  }

  std::vector<float> parameters_of(const Node& node) const {
    const auto begin = tail_.parameters().begin() + node.trained.begin;
    return {begin, begin + node.trained.size};
  }

  Pair convert(const Node& node, int index) {
    std::vector<Pair> in;
    for (int input : node.inputs) in.push_back(pairs_[static_cast<std::size_t>(input)]);
    const bool frozen = std::find(frozen_.begin(), frozen_.end(), index) != frozen_.end();
    const bool affine = std::all_of(in.begin(), in.end(), [](const Pair& p) { return p.affine; });
    const bool constant = std::all_of(in.begin(), in.end(), [](const Pair& p) { return p.constant; });
    if (affine && (frozen || constant || node.layer->linearity() == Linearity::linear))
      return keep(node, in, constant);
    LWSVM_CHECK(!frozen);  // free layers are the last ones: nothing frozen lies behind a convex value
    Pair out = node.layer->linearity() == Linearity::linear ? linear(node, in) : piecewise(node, in);
    out.affine = false;
    return out;
  }

  // The layer as it is, on values that are affine.
  Pair keep(const Node& node, const std::vector<Pair>& in, bool constant) {
    std::vector<int> inputs;
    for (const Pair& p : in) inputs.push_back(p.c);
    const int added = graph().add(node.name, node.layer, inputs);
    const Node& copy = graph().node(added);
    std::copy_n(tail_.parameters().begin() + node.trained.begin, node.trained.size,
                graph().parameters().begin() + copy.trained.begin);
    std::copy_n(tail_.statistics().begin() + node.statistics.begin, node.statistics.size,
                graph().statistics().begin() + copy.statistics.begin);
    return {added, kNone, true, constant};
  }

  //   ( A+ c + A- d + constant,  A- c + A+ d )
  Pair signed_split(const Pair& in, const std::vector<float>& weights, const MakeLinear& make) {
    const std::vector<float> plus = positive(weights, 1.0f), minus = positive(weights, -1.0f);
    const bool has_minus = any_nonzero(minus);
    Pair out;
    out.c = sum({make(in.c, plus, true), in.d != kNone && has_minus ? make(in.d, minus, false) : kNone});
    out.d =
        sum({has_minus ? make(in.c, minus, false) : kNone, in.d != kNone ? make(in.d, plus, false) : kNone});
    return out;
  }

  // The same layer on both, where it multiplies by nothing negative and adds nothing.
  Pair both(const Node& node, const std::vector<Pair>& in) {
    const auto apply = [&](int Pair::*part) {
      std::vector<int> inputs;
      for (const Pair& p : in) {
        if (p.*part == kNone) return kNone;
        inputs.push_back(p.*part);
      }
      return add(node.layer, inputs);
    };
    return {apply(&Pair::c), apply(&Pair::d)};
  }

  Pair linear(const Node& node, const std::vector<Pair>& in) {
    const std::string_view kind = node.layer->kind();
    if (kind == "Conv" || kind == "Dense") return weighted(node, in[0]);
    if (kind == "BatchNorm") return batch_norm(node, in[0]);
    if (kind == "Affine") {
      const auto& layer = static_cast<const AffineLayer&>(*node.layer);
      return signed_split(
          in[0], layer.scale(), [&](int input, const std::vector<float>& scale, bool constant) {
            return add(std::make_shared<AffineLayer>(scale, constant ? layer.offset() : std::vector<float>{}),
                       {input});
          });
    }
    if (kind == "Normalize") {
      const auto& layer = static_cast<const NormalizeLayer&>(*node.layer);
      std::vector<float> factors;
      for (float deviation : layer.deviation()) factors.push_back(1.0f / deviation);
      const int centred =
          add(std::make_shared<NormalizeLayer>(layer.mean(), std::vector<float>{}), {in[0].c});
      return signed_split({centred, in[0].d, false}, factors,
                          [&](int input, const std::vector<float>& scale, bool) {
                            return add(std::make_shared<AffineLayer>(scale, std::vector<float>{}), {input});
                          });
    }
    if (kind == "Sub") return {sum({in[0].c, in[1].d}), sum({in[0].d, in[1].c})};
    if (kind == "Add") {
      std::vector<int> c, d;
      for (const Pair& p : in) {
        c.push_back(p.c);
        d.push_back(p.d);
      }
      return {sum(c), sum(d)};
    }
    if (kind == "Concat") return concat(node, in);
    if (kind == "Pad") {
      const auto& layer = static_cast<const PadLayer&>(*node.layer);
      Pair out;
      out.c = add(node.layer, {in[0].c});
      if (in[0].d != kNone)
        out.d = add(std::make_shared<PadLayer>(layer.before(), layer.after(), 0.0f), {in[0].d});
      return out;
    }
    return both(node, in);  // pooling by averages, and layers that only move numbers
  }

  Pair weighted(const Node& node, const Pair& in) {
    std::vector<float> all = parameters_of(node);
    const std::int64_t weight_count = node.parameters[0].range.size;
    const std::vector<float> weights(all.begin(), all.begin() + weight_count);
    return signed_split(in, weights, [&](int input, const std::vector<float>& values, bool constant) {
      std::vector<float> parameters = values;
      if (constant) parameters.insert(parameters.end(), all.begin() + weight_count, all.end());
      const bool bias = constant && static_cast<std::int64_t>(all.size()) > weight_count;
      if (node.layer->kind() == "Dense") {
        const auto& layer = static_cast<const DenseLayer&>(*node.layer);
        return add_with(std::make_shared<DenseLayer>(layer.in_features(), layer.out_features(), bias), input,
                        parameters);
      }
      ConvolutionSpec spec = static_cast<const ConvolutionLayer&>(*node.layer).spec();
      spec.bias = bias;
      return add_with(std::make_shared<ConvolutionLayer>(spec), input, parameters);
    });
  }

  Pair batch_norm(const Node& node, const Pair& in) {
    const auto& layer = static_cast<const BatchNormLayer&>(*node.layer);
    const float* trained = tail_.parameters().data() + node.trained.begin;
    const float* averages = tail_.statistics().data() + node.statistics.begin;
    const std::int64_t channels = layer.channels();
    std::vector<float> scale, offset;
    for (std::int64_t c = 0; c < channels; ++c) {
      const double factor = trained[c] / std::sqrt(static_cast<double>(averages[channels + c]) +
                                                   static_cast<double>(layer.epsilon()));
      scale.push_back(static_cast<float>(factor));
      offset.push_back(static_cast<float>(trained[channels + c] - factor * static_cast<double>(averages[c])));
    }
    return signed_split(in, scale, [&](int input, const std::vector<float>& factors, bool constant) {
      return add(std::make_shared<AffineLayer>(factors, constant ? offset : std::vector<float>{}), {input});
    });
  }

  // A branch without a d stands beside branches that have one: zeros of its shape.
  Pair concat(const Node& node, const std::vector<Pair>& in) {
    std::vector<int> c, d;
    const bool any = std::any_of(in.begin(), in.end(), [](const Pair& p) { return p.d != kNone; });
    for (const Pair& p : in) {
      c.push_back(p.c);
      if (any)
        d.push_back(
            p.d != kNone
                ? p.d
                : add(std::make_shared<AffineLayer>(std::vector<float>{0.0f}, std::vector<float>{}), {p.c}));
    }
    return {add(node.layer, c), any ? add(node.layer, d) : kNone};
  }

  Pair piecewise(const Node& node, const std::vector<Pair>& in) {
    const std::string_view kind = node.layer->kind();
    if (kind == "Relu") return sloped(in[0], {0.0f});
    if (kind == "Abs") return sloped(in[0], {-1.0f});
    if (kind == "LeakyRelu") return sloped(in[0], {static_cast<const LeakyReluLayer&>(*node.layer).slope()});
    if (kind == "PRelu") return sloped(in[0], parameters_of(node));
    if (kind == "Clip") {
      const auto& layer = static_cast<const ClipLayer&>(*node.layer);
      Pair out = in[0];
      // Clip at one side only where the other is infinite.
      if (std::isfinite(layer.low()) && std::isfinite(layer.high()))
        return {shifted(maximum(shifted(in[0].c, -layer.low()), in[0].d), layer.low()),
                maximum(shifted(in[0].c, -layer.high()), in[0].d)};
      if (std::isfinite(layer.low())) {
        out.c = shifted(maximum(shifted(in[0].c, -layer.low()), in[0].d), layer.low());
        return out;
      }
      if (std::isfinite(layer.high())) {  // min(u, hi) = u - relu(u - hi) = c - max(c - hi, d)
        out.d = maximum(shifted(in[0].c, -layer.high()), in[0].d);
        return out;
      }
      return out;
    }
    if (kind == "MaxPool") {
      const auto& layer = static_cast<const MaxPoolLayer&>(*node.layer);
      const int top = add_free(node.layer, {difference(in[0].c, in[0].d)});
      if (in[0].d == kNone) return {top, kNone};
      const int total = add(std::make_shared<SumPoolLayer>(layer.window()), {in[0].d});
      return {sum({top, total}), total};
    }
    if (kind == "GlobalMaxPool") {
      const int top = add_free(node.layer, {difference(in[0].c, in[0].d)});
      if (in[0].d == kNone) return {top, kNone};
      const Shape& shape = graph().node(in[0].d).shape;
      const int mean = add(std::make_shared<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average), {in[0].d});
      const int total = scaled(mean, {static_cast<float>(shape[1] * shape[2])});
      return {sum({top, total}), total};
    }
    LWSVM_CHECK(kind == "Max" || kind == "Min");
    return extreme(in, kind == "Min");
  }

  //   ( a+ c + (1-a)+ m,  d + (-a)+ c + (a-1)+ m ),  m = max(c, d)
  Pair sloped(const Pair& in, const std::vector<float>& slopes) {
    std::vector<float> keep_c, give_m, shift_c, shift_m;
    for (float a : slopes) {
      keep_c.push_back(std::max(a, 0.0f));
      give_m.push_back(std::max(1.0f - a, 0.0f));
      shift_c.push_back(std::max(-a, 0.0f));
      shift_m.push_back(std::max(a - 1.0f, 0.0f));
    }
    const int m = maximum(in.c, in.d);
    return {sum({scaled(in.c, keep_c), scaled(m, give_m)}),
            sum({in.d, scaled(in.c, shift_c), scaled(m, shift_m)})};
  }

  Pair extreme(const std::vector<Pair>& in, bool minimum) {
    int Pair::*const up = minimum ? &Pair::d : &Pair::c;
    int Pair::*const down = minimum ? &Pair::c : &Pair::d;
    std::vector<int> rivals, totals;
    for (std::size_t k = 0; k < in.size(); ++k) {
      std::vector<int> terms{in[k].*up};
      for (std::size_t j = 0; j < in.size(); ++j)
        if (j != k) terms.push_back(in[j].*down);
      int rival = sum(terms);
      if (rival == kNone) rival = scaled_zero(in[k].c);
      rivals.push_back(rival);
      totals.push_back(in[k].*down);
    }
    const int top = add_free(std::make_shared<MaximumLayer>(), rivals), total = sum(totals);
    return minimum ? Pair{total, top} : Pair{top, total};
  }
  int scaled_zero(int like) {
    return add(std::make_shared<AffineLayer>(std::vector<float>{0.0f}, std::vector<float>{}), {like});
  }

  // The scores' own layer becomes the blocks S, D and K.
  void finish(const Node& node) {
    const bool dense = node.layer->kind() == "Dense";
    const Pair in = pairs_[static_cast<std::size_t>(node.inputs[0])];
    result_.classes = static_cast<int>(element_count(node.shape));
    if (dense && split_ == LossSplit::tight)
      tight_blocks(node, in);
    else
      summed_blocks(convert(node, tail_.output()));
  }

  void join(int convex, int shared, int concave) {
    std::vector<int> blocks{convex};
    result_.has_shared = shared != kNone;
    if (shared != kNone) blocks.push_back(shared);
    blocks.push_back(concave);
    graph().set_output(add(std::make_shared<ConcatLayer>(0), blocks));
  }

  void tight_blocks(const Node& node, const Pair& in) {
    const auto& layer = static_cast<const DenseLayer&>(*node.layer);
    const std::int64_t q = layer.in_features(), classes = layer.out_features();
    const std::vector<float> all = parameters_of(node);
    std::vector<float> above(static_cast<std::size_t>(classes * q)), below(above.size()), top(above.size());
    for (std::int64_t j = 0; j < q; ++j) {
      float low = all[static_cast<std::size_t>(j)], high = low;
      for (std::int64_t y = 1; y < classes; ++y) {
        low = std::min(low, all[static_cast<std::size_t>(y * q + j)]);
        high = std::max(high, all[static_cast<std::size_t>(y * q + j)]);
      }
      for (std::int64_t y = 0; y < classes; ++y) {
        const auto at = static_cast<std::size_t>(y * q + j);
        above[at] = all[at] - low;
        below[at] = (high - low) - above[at];
        top[at] = high - low;
      }
    }
    const std::vector<float> bias(all.begin() + classes * q, all.end());
    const auto dense = [&](int input, std::vector<float> weights, bool with_bias) {
      if (input == kNone) return kNone;
      if (with_bias) weights.insert(weights.end(), bias.begin(), bias.end());
      return add_with(std::make_shared<DenseLayer>(q, classes, with_bias), input, weights);
    };
    const int value = dense(in.c, above, !bias.empty());
    join(sum({value, dense(in.d, below, false)}), dense(in.d, above, false),
         sum({value, dense(in.d, top, false)}));
  }

  void summed_blocks(const Pair& scores) {
    const int c = as_vector(scores.c);
    if (scores.d == kNone) return join(c, kNone, c);
    const int d = as_vector(scores.d);
    const int classes = result_.classes;
    const auto square = [&](float diagonal) {
      std::vector<float> matrix(static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes), 1.0f);
      for (int y = 0; y < classes; ++y) matrix[static_cast<std::size_t>(y * classes + y)] = diagonal;
      return matrix;
    };
    const auto mix = [&](float diagonal) {
      return add_with(std::make_shared<DenseLayer>(classes, classes, false), d, square(diagonal));
    };
    join(sum({c, mix(0.0f)}), d, sum({c, mix(1.0f)}));
  }

  const Graph& tail_;
  LossSplit split_;
  std::vector<int> frozen_;
  std::vector<Pair> pairs_;
  Decomposition result_;
  int counter_ = 0;
};

}  // namespace

std::vector<int> piecewise_layers(const Tail& tail) {
  std::vector<int> layers;
  const std::vector<bool> depends = dependents(tail.graph, 0);
  for (int i = 0; i <= tail.graph.output(); ++i)
    if (depends[static_cast<std::size_t>(i)] && !tail.graph.node(i).is_input() &&
        tail.graph.node(i).layer->linearity() == Linearity::piecewise_linear)
      layers.push_back(i);
  return layers;
}

Decomposition decompose(const Tail& tail, int free_layers, LossSplit split) {
  return Decomposer(tail, free_layers, split).run();
}

}  // namespace lwsvm
