#include "dc/decompose.h"

#include <algorithm>

#include "base/error.h"
#include "dc/pair_graph.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/dense_layer.h"

namespace lwsvm {
namespace {

// Null: no rule is known for this kind.
const PairRule* find_rule(LayerKind kind) {
  for (const auto rules : {linear_rules(), piecewise_rules()})
    for (const PairRule& rule : rules)
      if (rule.kind == kind) return &rule;
  return nullptr;
}

class Decomposer {
 public:
  Decomposer(const Tail& tail, int free_layers, LossSplit split)
      : tail_(tail.graph), split_(split), to_(tail_, result_) {
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
      const int scores = to_.as_vector(pairs_[static_cast<std::size_t>(tail_.output())].c);
      graph().set_output(scores);
      result_.classes = static_cast<int>(element_count(graph().node(scores).shape));
    }
    return std::move(result_);
  }

 private:
  Graph& graph() { return result_.graph; }

  Pair convert(const Node& node, int index) {
    std::vector<Pair> in;
    for (int input : node.inputs) in.push_back(pairs_[static_cast<std::size_t>(input)]);
    const bool frozen = std::find(frozen_.begin(), frozen_.end(), index) != frozen_.end();
    const bool affine = std::all_of(in.begin(), in.end(), [](const Pair& p) { return p.affine; });
    const bool constant = std::all_of(in.begin(), in.end(), [](const Pair& p) { return p.constant; });
    if (affine && (frozen || constant || node.layer->linearity() == Linearity::linear))
      return keep(node, in, constant);
    LWSVM_CHECK(!frozen);  // free layers are the last ones: nothing frozen lies after a convex value
    const PairRule* rule = find_rule(node.layer->kind());
    LWSVM_CHECK(rule != nullptr);
    Pair out = rule->apply(to_, node, in);
    out.affine = false;
    return out;
  }

  // The layer as it is, on values that are affine.
  Pair keep(const Node& node, const std::vector<Pair>& in, bool constant) {
    std::vector<int> inputs;
    inputs.reserve(in.size());
    for (const Pair& p : in) inputs.push_back(p.c);
    const int added = graph().add(node.name, node.layer, inputs);
    const Node& copy = graph().node(added);
    std::copy_n(tail_.parameters().begin() + node.trained.begin, node.trained.size,
                graph().parameters().begin() + copy.trained.begin);
    std::copy_n(tail_.statistics().begin() + node.statistics.begin, node.statistics.size,
                graph().statistics().begin() + copy.statistics.begin);
    return {added, kNone, true, constant};
  }

  // The scores' own layer becomes the blocks S, D and K.
  void finish(const Node& node) {
    const bool dense = node.layer->kind() == LayerKind::dense;
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
    graph().set_output(to_.add(std::make_shared<ConcatLayer>(0), blocks));
  }

  void tight_blocks(const Node& node, const Pair& in) {
    const auto& layer = static_cast<const DenseLayer&>(*node.layer);
    const std::int64_t q = layer.in_features(), classes = layer.out_features();
    const std::vector<float> all = to_.parameters_of(node);
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
      return to_.add_with(std::make_shared<DenseLayer>(q, classes, with_bias), input, weights);
    };
    const int value = dense(in.c, above, !bias.empty());
    join(to_.sum({value, dense(in.d, below, false)}), dense(in.d, above, false),
         to_.sum({value, dense(in.d, top, false)}));
  }

  void summed_blocks(const Pair& scores) {
    const int c = to_.as_vector(scores.c);
    if (scores.d == kNone) return join(c, kNone, c);
    const int d = to_.as_vector(scores.d);
    const int classes = result_.classes;
    const auto square = [&](float diagonal) {
      const auto size = static_cast<std::size_t>(classes);
      std::vector<float> matrix(size * size, 1.0f);
      for (std::size_t y = 0; y < size; ++y) matrix[y * size + y] = diagonal;
      return matrix;
    };
    const auto mix = [&](float diagonal) {
      return to_.add_with(std::make_shared<DenseLayer>(classes, classes, false), d, square(diagonal));
    };
    join(to_.sum({c, mix(0.0f)}), d, to_.sum({c, mix(1.0f)}));
  }

  const Graph& tail_;
  LossSplit split_;
  std::vector<int> frozen_;
  std::vector<Pair> pairs_;
  Decomposition result_;
  PairGraph to_;
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
