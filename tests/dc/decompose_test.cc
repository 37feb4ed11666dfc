// Every kind of layer, and random graphs, as differences of convex functions.
#include "dc/decompose.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "checks.h"
#include "decomposed.h"
#include "net/program.h"
#include "random_graphs.h"

namespace lwsvm {
namespace {

constexpr int classes = 4, samples = 3;
constexpr double rounding =
    1e-6;  // the decomposition's weights (V - min V, 1 / deviation) are rounded to float
constexpr float infinity = std::numeric_limits<float>::infinity();

std::shared_ptr<const Layer> convolution(std::int64_t in, std::int64_t out, std::int64_t size = 3) {
  ConvolutionSpec spec;
  spec.in_channels = in;
  spec.out_channels = out;
  spec.window.height = spec.window.width = size;
  spec.window.pad_top = spec.window.pad_left = spec.window.pad_bottom = spec.window.pad_right = size / 2;
  return std::make_shared<ConvolutionLayer>(spec);
}

WindowSpec window(std::int64_t size, std::int64_t stride, std::int64_t pad = 0, bool ceil_mode = false) {
  WindowSpec w;
  w.height = w.width = size;
  w.stride_height = w.stride_width = stride;
  w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = pad;
  w.ceil_mode = ceil_mode;
  return w;
}

// Two images of 3 x 5 x 5 that depend on the open layer, and one that does not.
struct Ends {
  int first, second, constant;
};

struct Kind {
  std::string name;
  std::function<int(Graph&, const Ends&)> add;  // returns the node to go on from
};

std::vector<Kind> kinds() {
  const auto of_one = [](const std::string& name, std::shared_ptr<const Layer> what) {
    return Kind{name, [what](Graph& g, const Ends& e) { return g.add("kind", what, {e.first}); }};
  };
  const auto of = [](const std::string& name, std::shared_ptr<const Layer> what, std::vector<int> which) {
    return Kind{name, [what, which](Graph& g, const Ends& e) {
                  std::vector<int> inputs;
                  for (int w : which) inputs.push_back(w == 0 ? e.first : w == 1 ? e.second : e.constant);
                  return g.add("kind", what, inputs);
                }};
  };
  using Pool = GlobalPoolLayer::Reduction;
  return {
      of_one("relu", layer<ReluLayer>()),
      of_one("leaky", layer<LeakyReluLayer>(0.3f)),
      of_one("leaky, negative slope", layer<LeakyReluLayer>(-0.4f)),
      of_one("leaky, steep", layer<LeakyReluLayer>(1.7f)),
      of_one("leaky, slope 1", layer<LeakyReluLayer>(1.0f)),
      of_one("prelu", layer<PReluLayer>(3)),
      of_one("prelu, one slope", layer<PReluLayer>(1)),
      of_one("clip", layer<ClipLayer>(-0.3f, 0.6f)),
      of_one("relu6-like clip", layer<ClipLayer>(0.0f, 0.5f)),
      of_one("clip below", layer<ClipLayer>(-0.2f, infinity)),
      of_one("clip above", layer<ClipLayer>(-infinity, 0.2f)),
      of_one("clip to everything", layer<ClipLayer>(-infinity, infinity)),
      of_one("abs", layer<AbsLayer>()),
      of("max of two", layer<MaximumLayer>(), {0, 1}),
      of("max of three", layer<MaximumLayer>(), {0, 1, 2}),
      of("max with itself", layer<MaximumLayer>(), {0, 0}),
      of("max with a constant", layer<MaximumLayer>(), {2, 0}),
      of("max of one", layer<MaximumLayer>(), {0}),
      of("min of two", layer<MaximumLayer>(true), {0, 1}),
      of("min of three", layer<MaximumLayer>(true), {1, 2, 0}),
      of("min of one", layer<MaximumLayer>(true), {0}),
      of_one("max-pool", layer<MaxPoolLayer>(window(2, 2))),
      of_one("overlapping max-pool", layer<MaxPoolLayer>(window(3, 2))),
      of_one("padded max-pool", layer<MaxPoolLayer>(window(3, 1, 1))),
      of_one("ceil max-pool", layer<MaxPoolLayer>(window(2, 2, 0, true))),
      of_one("global max-pool", layer<GlobalPoolLayer>(Pool::maximum)),
      of_one("average pool", layer<AveragePoolLayer>(window(3, 2, 1), false)),
      of_one("average pool that counts padding", layer<AveragePoolLayer>(window(3, 2, 1), true)),
      of_one("global average pool", layer<GlobalPoolLayer>(Pool::average)),
      of_one("convolution", convolution(3, 2)),
      of_one("affine", layer<AffineLayer>(std::vector<float>{0.5f, -1.5f, 0.0f}, std::vector<float>{0.4f})),
      of_one("offset alone", layer<AffineLayer>(std::vector<float>{}, std::vector<float>{0.1f, -0.2f, 0.3f})),
      of_one("normalize", layer<NormalizeLayer>(std::vector<float>{0.5f, -1.0f, 0.2f},
                                                std::vector<float>{0.7f, -2.0f, 1.1f})),
      of_one("batch norm", layer<BatchNormLayer>(3)),
      of("add", layer<AddLayer>(), {0, 1, 2}),
      of("add to itself", layer<AddLayer>(), {0, 0}),
      of("sub", layer<SubtractLayer>(), {0, 1}),
      of("sub from a constant", layer<SubtractLayer>(), {2, 1}),
      of("sub a constant", layer<SubtractLayer>(), {1, 2}),
      of("concat", layer<ConcatLayer>(0), {0, 1}),
      of("concat with a constant", layer<ConcatLayer>(0), {2, 0}),
      of("concat of rows", layer<ConcatLayer>(1), {0, 2, 1}),
      of_one("flatten", layer<FlattenLayer>()),
      of_one("reshape", layer<ReshapeLayer>(Shape{5, 3, 5})),
      of_one("transpose", layer<TransposeLayer>(std::vector<std::int64_t>{2, 0, 1})),
      of_one("pad", layer<PadLayer>(Shape{0, 1, 0}, Shape{1, 0, 2}, 0.7f)),
      of_one("slice", layer<SliceLayer>(Shape{1, 0, 1}, Shape{1, 2, 1}, Shape{2, 3, 3})),
      of_one("dropout", layer<DropoutLayer>(0.5f)),
  };
}

// The kind after an open convolution: directly, or after a ReLU and a layer of mixed signs; then more
// layers.
Graph network_with(const Kind& kind, bool deep, bool dense_end) {
  Graph g;
  const int x = g.add_input("x", {2, 5, 5});
  const int open = g.add("open", convolution(2, 3), {x});
  Ends ends{};
  ends.constant = g.add("constant", convolution(2, 3), {x});
  ends.first = open;
  ends.second = g.add("second", convolution(3, 3, 1), {open});
  if (deep) {
    const int relu = g.add("relu0", layer<ReluLayer>(), {open});
    ends.first = g.add("mix1", convolution(3, 3), {relu});
    ends.second = g.add("mix2", convolution(3, 3, 1), {relu});
  }
  int last = kind.add(g, ends);
  if (g.node(last).shape.size() == 3 && deep) {
    const std::int64_t channels = g.node(last).shape[0];
    last = g.add("mix3", convolution(channels, 4, 1), {last});
    last = g.add("leaky3", layer<LeakyReluLayer>(0.25f), {last});
  }
  if (dense_end) {
    if (g.node(last).shape.size() != 1) last = g.add("flat", layer<FlattenLayer>(), {last});
    g.add("scores", layer<DenseLayer>(g.node(last).shape[0], classes), {last});
  } else if (g.node(last).shape.size() == 3) {
    last = g.add("head", convolution(g.node(last).shape[0], classes), {last});
    g.add("scores", layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average), {last});
  } else {
    g.add("scores", layer<DenseLayer>(g.node(last).shape[0], classes, false), {last});
  }
  randomise(g, 3);
  for (const Node& node :
       g.nodes())  // frozen batch norm with scales of both signs; slopes on both sides of [0, 1]
    for (const Parameter& p : node.parameters)
      if (p.name == "scale" || p.name == "slope")
        for (std::int64_t i = 0; i < p.range.size; ++i)
          g.parameters()[at(p.range.begin + i)] = i % 3 == 0 ? -0.8f : i % 3 == 1 ? 1.4f : 0.3f;
  return g;
}

// The network's parameters with those of one node replaced by w.
naive::Setting with_weights(const naive::Setting& setting, const Node& node, const std::vector<double>& w) {
  naive::Setting there = setting;
  std::copy(w.begin(), w.end(), there.parameters.begin() + node.trained.begin);
  return there;
}

std::vector<double> random_weights(const naive::Setting& setting, const Node& node, double spread,
                                   Random& random) {
  std::vector<double> w(setting.parameters.begin() + node.trained.begin,
                        setting.parameters.begin() + node.trained.begin + node.trained.size);
  for (double& value : w) value += random.uniform(-spread, spread);
  return w;
}

double size_of(const Blocks& blocks) {
  double largest = 1;
  for (const auto* block : {&blocks.s, &blocks.d, &blocks.k})
    for (const auto& row : *block)
      for (double value : row) largest = std::max(largest, std::abs(value));
  return largest;
}

// convex - concave = loss, at random weights of the open layer, for every label as the true one.
void expect_difference_is_loss(const Graph& g, int open, const Tail& tail, const Decomposition& decomposition,
                               const MarginMatrix& margins, std::uint64_t seed) {
  Random random(seed, 31);
  const naive::Setting setting = clear_setting(g, samples, seed);
  for (double spread : {0.0, 0.5, 5.0}) {
    const naive::Run run = naive::run(
        g, with_weights(setting, g.node(open), random_weights(setting, g.node(open), spread, random)));
    const naive::Tensor& scores = run.values[at(g.scores())];
    const Blocks blocks = naive_blocks(decomposition, tail_inputs(tail, run));
    ASSERT_EQ(blocks.classes, margins.classes());
    for (std::size_t n = 0; n < at(samples); ++n)
      for (int truth = 0; truth < margins.classes(); ++truth)
        ASSERT_NEAR(blocks.convex(n, truth, margins) - blocks.concave(n, truth),
                    hinge_of(scores, static_cast<std::int64_t>(n), truth, margins),
                    rounding * size_of(blocks))
            << "spread " << spread << ", sample " << n << ", label " << truth;
  }
}

// The same decomposition as it will be run: compiled, in float, patterns recorded.
void expect_program_agrees(const Graph& g, const Tail& tail, const Decomposition& decomposition,
                           std::uint64_t seed) {
  const naive::Setting setting = clear_setting(g, samples, seed);
  const std::vector<naive::Tensor> inputs = tail_inputs(tail, naive::run(g, setting));
  const Blocks expected = naive_blocks(decomposition, inputs);
  ProgramOptions options;
  options.samples = samples;
  options.target = decomposition.graph.output();
  options.record_patterns = true;
  options.free_nodes = decomposition.free_nodes;
  Program program(decomposition.graph, options);
  program.load(decomposition.graph);
  Workspace workspace = program.make_workspace();
  std::fill(workspace.arena.begin(), workspace.arena.end(), std::nanf(""));
  for (std::size_t k = 0; k < inputs.size(); ++k)
    std::copy(inputs[k].values.begin(), inputs[k].values.end(),
              program.input(workspace, static_cast<int>(k)));
  program.forward(workspace, PatternUse::record);
  const Blocks found = blocks_of(decomposition, program.output(workspace), samples);
  const double tolerance = 1e-5 * size_of(expected);
  for (std::size_t n = 0; n < at(samples); ++n)
    for (std::size_t y = 0; y < at(expected.classes); ++y) {
      ASSERT_NEAR(found.s[n][y], expected.s[n][y], tolerance);
      ASSERT_NEAR(found.d[n][y], expected.d[n][y], tolerance);
      ASSERT_NEAR(found.k[n][y], expected.k[n][y], tolerance);
    }
}

// f at the middle of random segments of w is at most the mean of its ends. Returns how often the loss itself,
// which is not convex, breaks that: the test can tell.
int expect_convex_parts(const Graph& g, int open, const Tail& tail, const Decomposition& decomposition,
                        const MarginMatrix& margins, std::uint64_t seed) {
  Random random(seed, 32);
  const naive::Setting setting = clear_setting(g, samples, seed);
  const auto at_w = [&](const std::vector<double>& w, naive::Tensor& scores) {
    const naive::Run run = naive::run(g, with_weights(setting, g.node(open), w));
    scores = run.values[at(g.scores())];
    return naive_blocks(decomposition, tail_inputs(tail, run));
  };
  int broken = 0;
  for (int segment = 0; segment < repetitions(8, 4); ++segment) {
    const double spread = segment % 2 ? 3 : 0.4;
    const std::vector<double> a = random_weights(setting, g.node(open), spread, random);
    const std::vector<double> b = random_weights(setting, g.node(open), spread, random);
    std::vector<double> middle(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) middle[i] = (a[i] + b[i]) / 2;
    naive::Tensor scores_a, scores_b, scores_m;
    const Blocks at_a = at_w(a, scores_a), at_b = at_w(b, scores_b), at_m = at_w(middle, scores_m);
    const double tolerance = 1e-11 * std::max(size_of(at_a), size_of(at_b));
    for (std::size_t n = 0; n < at(samples); ++n)
      for (int truth = 0; truth < margins.classes(); ++truth) {
        EXPECT_LE(at_m.convex(n, truth, margins),
                  (at_a.convex(n, truth, margins) + at_b.convex(n, truth, margins)) / 2 + tolerance);
        EXPECT_LE(at_m.concave(n, truth), (at_a.concave(n, truth) + at_b.concave(n, truth)) / 2 + tolerance);
        const auto row = static_cast<std::int64_t>(n);
        broken += hinge_of(scores_m, row, truth, margins) >
                  (hinge_of(scores_a, row, truth, margins) + hinge_of(scores_b, row, truth, margins)) / 2 +
                      tolerance;
      }
  }
  return broken;
}

TEST(Decompose, ConvexMinusConcaveIsTheLossForEveryKindSpaceAndSplit) {
  Random random(1, 33);
  const MarginMatrix margins = random_margins(classes, random);
  for (const Kind& kind : kinds())
    for (bool deep : {false, true})
      for (bool dense_end : {false, true}) {
        if (repetitions(0, 1) && deep != dense_end) continue;
        SCOPED_TRACE(kind.name + (deep ? ", after layers" : "") + (dense_end ? ", dense end" : ""));
        const Graph g = network_with(kind, deep, dense_end);
        const int open = *g.find("open");
        const Tail tail = cut_tail(g, open);
        const int layers = static_cast<int>(piecewise_layers(tail).size());
        for (int free = 0; free <= layers; ++free)
          for (LossSplit split : {LossSplit::tight, LossSplit::paper}) {
            SCOPED_TRACE("free " + std::to_string(free));
            const Decomposition decomposition = decompose(tail, free, split);
            EXPECT_EQ(decomposition.labels_only, free == 0);
            expect_difference_is_loss(g, open, tail, decomposition, margins, 4);
            expect_program_agrees(g, tail, decomposition, 4);
            if (HasFailure()) return;
          }
      }
}

TEST(Decompose, PartsAreConvexForEveryKindAndSplit) {
  Random random(2, 33);
  const MarginMatrix margins = random_margins(classes, random);
  int broken = 0;
  for (const Kind& kind : kinds())
    for (bool deep : {false, true})
      for (LossSplit split : {LossSplit::tight, LossSplit::paper}) {
        SCOPED_TRACE(kind.name + (deep ? ", after layers" : ""));
        const Graph g = network_with(kind, deep, true);
        const int open = *g.find("open");
        const Tail tail = cut_tail(g, open);
        const int layers = static_cast<int>(piecewise_layers(tail).size());
        broken += expect_convex_parts(g, open, tail, decompose(tail, layers, split), margins, 5);
        if (HasFailure()) return;
      }
  EXPECT_GT(broken, 100) << "the segments are too short to tell convex from not";
}

// Both properties on random graphs, every layer with weights open in turn.
TEST(Decompose, HoldsOnRandomGraphs) {
  Random random(3, 33);
  const MarginMatrix margins = random_margins(5, random);
  int opened = 0, frontiers = 0;
  for (std::uint64_t seed = 0; seed < repetitions(120, 16); ++seed) {
    Graph g = Grower(seed).grow_scores(5 + static_cast<int>(seed % 7), 5);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + describe(g));
    randomise(g, seed);
    for (int open : refinable_layers(g)) {
      SCOPED_TRACE("open " + g.node(open).name);
      const Tail tail = cut_tail(g, open);
      const int layers = static_cast<int>(piecewise_layers(tail).size());
      ++opened;
      frontiers += !tail.frontier.empty();
      for (int free = 0; free <= layers; ++free)
        for (LossSplit split : {LossSplit::tight, LossSplit::paper})
          expect_difference_is_loss(g, open, tail, decompose(tail, free, split), margins, seed);
      const Decomposition all = decompose(tail, layers, seed % 2 ? LossSplit::tight : LossSplit::paper);
      expect_program_agrees(g, tail, all, seed);
      expect_convex_parts(g, open, tail, all, margins, seed);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(opened, repetitions(100, 12));
  EXPECT_GT(frontiers, repetitions(20, 2));
}

// With patterns frozen at one point, the parts are convex functions too: frozen layers are affine.
TEST(Decompose, PartsStayConvexWhenFrozenLayersReplay) {
  Random random(4, 33);
  const MarginMatrix margins = random_margins(classes, random);
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const Graph g = network_with(kind, true, true);
    const int open = *g.find("open");
    const Tail tail = cut_tail(g, open);
    const int layers = static_cast<int>(piecewise_layers(tail).size());
    const naive::Setting setting = clear_setting(g, samples, 6);
    const std::vector<naive::Tensor> base = tail_inputs(tail, naive::run(g, setting));
    for (int free = 0; free <= layers; ++free) {
      const Decomposition decomposition = decompose(tail, free, LossSplit::tight);
      ProgramOptions options;
      options.samples = samples;
      options.target = decomposition.graph.output();
      options.record_patterns = true;
      options.free_nodes = decomposition.free_nodes;
      Program program(decomposition.graph, options);
      program.load(decomposition.graph);
      Workspace workspace = program.make_workspace();
      const auto blocks_at = [&](const std::vector<double>& u, PatternUse use) {
        for (std::size_t k = 0; k < base.size(); ++k)
          std::copy(base[k].values.begin(), base[k].values.end(),
                    program.input(workspace, static_cast<int>(k)));
        std::copy(u.begin(), u.end(), program.input(workspace));
        program.forward(workspace, use);
        return blocks_of(decomposition, program.output(workspace), samples);
      };
      blocks_at(base[0].values, PatternUse::record);
      for (int segment = 0; segment < 4; ++segment) {
        std::vector<double> a = base[0].values, b = a, middle = a;
        for (std::size_t i = 0; i < a.size(); ++i) {
          a[i] += random.uniform(-2, 2);
          b[i] += random.uniform(-2, 2);
          middle[i] = (a[i] + b[i]) / 2;
        }
        const Blocks at_a = blocks_at(a, PatternUse::replay), at_b = blocks_at(b, PatternUse::replay),
                     at_m = blocks_at(middle, PatternUse::replay);
        const double tolerance = 1e-5 * std::max(size_of(at_a), size_of(at_b));
        for (std::size_t n = 0; n < at(samples); ++n)
          for (int truth = 0; truth < classes; ++truth) {
            ASSERT_LE(at_m.convex(n, truth, margins),
                      (at_a.convex(n, truth, margins) + at_b.convex(n, truth, margins)) / 2 + tolerance);
            ASSERT_LE(at_m.concave(n, truth),
                      (at_a.concave(n, truth) + at_b.concave(n, truth)) / 2 + tolerance);
          }
      }
    }
  }
}

// The label y_i with the pieces of the linearisation point: S_y + D_y = K_y, whatever the point.
TEST(Decompose, ConvexPlaneOfTheTrueLabelIsTheConcavePart) {
  for (const Kind& kind : kinds())
    for (LossSplit split : {LossSplit::tight, LossSplit::paper}) {
      SCOPED_TRACE(kind.name);
      const Graph g = network_with(kind, true, true);
      const Tail tail = cut_tail(g, *g.find("open"));
      const int layers = static_cast<int>(piecewise_layers(tail).size());
      for (int free = 0; free <= layers; ++free) {
        const Decomposition decomposition = decompose(tail, free, split);
        const Blocks blocks =
            naive_blocks(decomposition, tail_inputs(tail, naive::run(g, clear_setting(g, samples, 7))));
        for (std::size_t n = 0; n < at(samples); ++n)
          for (std::size_t y = 0; y < at(classes); ++y)
            ASSERT_NEAR(blocks.s[n][y] + blocks.d[n][y], blocks.k[n][y], rounding * size_of(blocks));
      }
    }
}

// The tight split subtracts less from both parts than the paper's: its concave part is no steeper. Measured
// by what is lost at a distance: H of the tight split is never above that of the paper's, the pieces before
// the loss being equal.
TEST(Decompose, TightSplitGivesATighterSurrogateThanThePapers) {
  Random random(5, 33);
  const MarginMatrix margins = MarginMatrix(classes);
  double tight_sum = 0, paper_sum = 0;
  for (const Kind& kind : kinds()) {
    const Graph g = network_with(kind, true, true);
    const int open = *g.find("open");
    const Tail tail = cut_tail(g, open);
    const int layers = static_cast<int>(piecewise_layers(tail).size());
    const naive::Setting setting = clear_setting(g, samples, 8);
    const std::vector<double> w = random_weights(setting, g.node(open), 1.0, random);
    std::vector<double> near(w.size()), start = random_weights(setting, g.node(open), 0.0, random);
    constexpr double h = 1e-7;
    for (std::size_t i = 0; i < w.size(); ++i) near[i] = start[i] + h * (w[i] - start[i]);
    for (LossSplit split : {LossSplit::tight, LossSplit::paper}) {
      const Decomposition decomposition = decompose(tail, layers, split);
      const auto blocks_at = [&](const std::vector<double>& there) {
        return naive_blocks(decomposition,
                            tail_inputs(tail, naive::run(g, with_weights(setting, g.node(open), there))));
      };
      const Blocks base = blocks_at(start), beside = blocks_at(near), far = blocks_at(w);
      for (std::size_t n = 0; n < at(samples); ++n)
        for (int truth = 0; truth < classes; ++truth) {
          const double linearised =
              base.concave(n, truth) + (beside.concave(n, truth) - base.concave(n, truth)) / h;
          (split == LossSplit::tight ? tight_sum : paper_sum) += far.convex(n, truth, margins) - linearised;
        }
    }
  }
  EXPECT_LT(tight_sum, paper_sum);
}

}  // namespace
}  // namespace lwsvm
