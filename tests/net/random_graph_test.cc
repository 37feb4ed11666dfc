// Random networks: that the memory planner's sharing, lifetimes and detours never change a number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checks.h"
#include "net/batch_runner.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/shape_layers.h"
#include "net/program.h"

namespace lwsvm {
namespace {

// Grows a graph one random node at a time, each on any of the nodes before it: branches, joins, dead ends.
class Grower {
 public:
  explicit Grower(std::uint64_t seed) : random_(seed, 21) {
    graph_.add_input("x", {below(4) + 1, below(4) + 4, below(4) + 4});
    if (below(4) == 0) graph_.add_input("y", graph_.node(0).shape);
  }

  Graph grow(int nodes) {
    while (static_cast<int>(graph_.nodes().size()) < nodes) add_node();
    return std::move(graph_);
  }

  // Joins every image that nobody reads into a vector of `classes` scores.
  Graph grow_scores(int nodes, std::int64_t classes) {
    while (static_cast<int>(graph_.nodes().size()) < nodes) add_node();
    std::vector<int> ends;
    const int count = static_cast<int>(graph_.nodes().size());
    for (int node = 0; node < count; ++node)
      if (graph_.consumers(node).empty() || node == 0) ends.push_back(add(layer<FlattenLayer>(), {node}));
    const int all = add(layer<ConcatLayer>(0), ends);
    add(layer<DenseLayer>(graph_.node(all).shape[0], classes), {all});
    return std::move(graph_);
  }

 private:
  std::int64_t below(std::uint64_t bound) { return static_cast<std::int64_t>(random_.below(bound)); }

  int add(std::shared_ptr<const Layer> what, std::vector<int> inputs) {
    return graph_.add("n" + std::to_string(graph_.nodes().size()), std::move(what), std::move(inputs));
  }

  int pick() {  // mostly a recent node, so that the graph gets deep
    const auto count = graph_.nodes().size();
    return static_cast<int>(
        count - 1 -
        (random_.below(3) ? random_.below(std::min<std::uint64_t>(3, count)) : random_.below(count)));
  }

  // Between 1 and 4 nodes of the shape of `node`, possibly `node` itself and any of them twice.
  std::vector<int> alike(int node) {
    std::vector<int> candidates, chosen{node};
    for (int other = 0; other < static_cast<int>(graph_.nodes().size()); ++other)
      if (graph_.node(other).shape == graph_.node(node).shape) candidates.push_back(other);
    for (std::int64_t more = below(3) + 1; more > 0; --more)
      chosen.insert(chosen.begin() + below(chosen.size() + 1), candidates[random_.below(candidates.size())]);
    return chosen;
  }

  WindowSpec window(const Shape& image) {
    WindowSpec w;
    w.height = std::min(below(3) + 1, image[1]);
    w.width = std::min(below(3) + 1, image[2]);
    w.stride_height = below(2) + 1;
    w.stride_width = below(2) + 1;
    w.pad_top = below(static_cast<std::uint64_t>(w.height));
    w.pad_left = below(static_cast<std::uint64_t>(w.width));
    w.pad_bottom = below(static_cast<std::uint64_t>(w.height));
    w.pad_right = below(static_cast<std::uint64_t>(w.width));
    return w;
  }

  void add_convolution(int node) {
    ConvolutionSpec spec;
    const Shape shape = graph_.node(node).shape;
    spec.in_channels = shape[0];
    spec.out_channels = below(2) ? shape[0] : below(9) + 1;
    spec.bias = below(2) == 0;
    spec.window = window(shape);
    if (below(2) == 0) {  // keeps the shape, so that sums can follow
      spec.out_channels = shape[0];
      spec.window = {};
      spec.window.height = spec.window.width = 3;
      spec.window.pad_top = spec.window.pad_left = spec.window.pad_bottom = spec.window.pad_right = 1;
    }
    add(std::make_shared<ConvolutionLayer>(spec), {node});
  }

  void add_node() {
    const int node = pick();
    const Shape shape = graph_.node(node).shape;
    switch (random_.below(19)) {
      case 0:
      case 1:
        return add_convolution(node);
      case 2:
      case 3:
        add(layer<ReluLayer>(), {node});
        return;
      case 4:
        add(layer<LeakyReluLayer>(0.2f), {node});
        return;
      case 5:
        add(layer<PReluLayer>(below(2) ? 1 : shape[0]), {node});
        return;
      case 6:
        add(layer<ClipLayer>(-0.5f, 0.75f), {node});
        return;
      case 7:
        add(layer<AbsLayer>(), {node});
        return;
      case 8:
        add(layer<MaximumLayer>(below(2) == 0), alike(node));
        return;
      case 9:
        add(layer<MaxPoolLayer>(window(shape)), {node});
        return;
      case 10:
        add(layer<AveragePoolLayer>(window(shape), below(2) == 0), {node});
        return;
      case 11: {  // a ReLU that a max-pool may absorb, unless somebody else reads it
        const int relu = add(layer<ReluLayer>(), {node});
        const int pool = add(layer<MaxPoolLayer>(window(shape)), {relu});
        if (below(2)) add(layer<AddLayer>(), alike(below(2) ? relu : node));
        if (below(3) == 0) add(layer<MaxPoolLayer>(window(shape)), {relu});
        if (below(2)) add(layer<AddLayer>(), {pool, pool});
        return;
      }
      case 12:
        add(layer<BatchNormLayer>(shape[0]), {node});
        return;
      case 13:
      case 14:
        add(layer<AddLayer>(), alike(node));
        return;
      case 15: {
        const std::vector<int> two = alike(node);
        add(layer<SubtractLayer>(), {two[0], two[1]});
        return;
      }
      case 16: {
        if (shape[0] > 12) return;
        add(layer<ConcatLayer>(0), alike(node));
        return;
      }
      case 17:
        add(layer<AffineLayer>(random_floats(shape[0], 0.5, 1.5, random_), random_floats(1, -1, 1, random_)),
            {node});
        return;
      case 18:
        if (below(2) && shape[1] * shape[2] < 64)
          add(layer<TransposeLayer>(std::vector<std::int64_t>{0, 2, 1}), {node});
        else
          add(layer<DropoutLayer>(0.0f), {node});
        return;
    }
  }

  Random random_;
  Graph graph_;
};

std::string describe(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) {
    text += node.name + " " + to_string(node.shape) + " = " +
            (node.is_input() ? "input" : std::string(node.layer->kind())) + "(";
    for (int input : node.inputs) text += " " + graph.node(input).name;
    text += " )\n";
  }
  return text;
}

TEST(RandomGraph, ComputesAndDifferentiatesLikeTheNaiveNetwork) {
  for (std::uint64_t seed = 0; seed < repetitions(300, 40); ++seed) {
    Random sizes(seed, 22);
    const int nodes = 4 + static_cast<int>(sizes.below(14)), samples = 1 + static_cast<int>(sizes.below(3));
    // The target is the last node, or everything that is left over.
    Graph graph = seed % 2 ? Grower(seed).grow(nodes) : Grower(seed).grow_scores(nodes, 5);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + describe(graph));
    expect_like_naive(graph, samples, seed);
    if (testing::Test::HasFailure()) return;
  }
}

// Only some nodes learn: what lies before them is not differentiated, and their gradients do not change.
TEST(RandomGraph, LearningFewerNodesGivesThemTheSameGradient) {
  for (std::uint64_t seed = 0; seed < repetitions(100, 20); ++seed) {
    Graph graph = Grower(seed).grow_scores(10, 5);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + describe(graph));
    randomise(graph, seed);
    const naive::Setting setting = clear_setting(graph, 2, seed);
    std::vector<int> all;
    for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node)
      if (graph.node(node).trained.size > 0) all.push_back(node);
    const auto gradient = [&](const std::vector<int>& learn) {
      ProgramOptions options;
      options.samples = 2;
      options.learn = learn;
      Program program(graph, options);
      program.load(graph);
      Workspace workspace = program.make_workspace();
      std::fill(workspace.arena.begin(), workspace.arena.end(), std::nanf(""));
      for (std::size_t k = 0; k < setting.inputs.size(); ++k)
        std::copy(setting.inputs[k].values.begin(), setting.inputs[k].values.end(),
                  program.input(workspace, static_cast<int>(k)));
      program.forward(workspace, PatternUse::record);
      for (int i = 0; i < 10; ++i) program.output_gradient(workspace)[i] = static_cast<float>(i - 5);
      AlignedBuffer<float> packed(program.packed_gradient_floats());
      program.backward(workspace, packed.data());
      std::vector<float> result(graph.parameters().size(), 12345.0f);
      program.unpack_gradient(graph, packed.data(), result.data());
      return result;
    };
    const std::vector<float> whole = gradient(all);
    for (int node : all) {
      const ParameterRange range = graph.node(node).trained;
      const std::vector<float> one = gradient({node});
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(one.size()); ++i) {
        const bool own = i >= range.begin && i < range.end();
        ASSERT_EQ(one[at(i)], own ? whole[at(i)] : 12345.0f) << graph.node(node).name << " element " << i;
      }
    }
  }
}

// Batch normalisation in training splits a run into stages, chunk by chunk: memory must live across them.
TEST(RandomGraph, TrainsLikeTheNaiveNetwork) {
  for (std::uint64_t seed = 0; seed < repetitions(120, 20); ++seed) {
    Graph graph = Grower(seed).grow_scores(9, 4);
    if (graph.inputs().size() > 1 || graph.statistics().empty()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + describe(graph));
    randomise(graph, seed);
    const int samples = seed % 3 ? 13 : 9;
    const naive::Setting setting = clear_setting(graph, samples, seed, true, 2e-5);
    if (testing::Test::HasFailure()) return;
    const std::vector<float> values(setting.inputs[0].values.begin(), setting.inputs[0].values.end());
    Random random(seed, 23);
    std::vector<std::int32_t> labels(at(samples)), batch(at(samples));
    for (int i = 0; i < samples; ++i) {
      labels[at(i)] = static_cast<std::int32_t>(random.below(4));
      batch[at(i)] = i;
    }
    const Loss loss(LossKind::cross_entropy, MarginMatrix(4));
    const auto objective = [&](const naive::Setting& there) {
      return naive_loss(loss, naive::run(graph, there).values[at(graph.scores())], labels) / samples;
    };
    const double expected_loss = objective(setting);
    const std::vector<double> expected_statistics = naive::run(graph, setting).statistics;
    Direction direction;
    direction.inputs = {std::vector<double>(values.size(), 0.0)};
    std::vector<double> slopes;
    std::vector<std::vector<double>> directions;
    for (int round = 0; round < 10; ++round) {
      direction.parameters.assign(setting.parameters.size(), 0.0);
      if (round < 2)
        for (double& d : direction.parameters) d = random.uniform(-1, 1);
      else
        direction.parameters[random.below(direction.parameters.size())] = 1;
      directions.push_back(direction.parameters);
      slopes.push_back(finite_difference(setting, direction, 1e-6, objective));
    }
    const Threads threads(2);
    const VectorSource source(element_count(graph.node(0).shape), values, labels);
    std::vector<float> gradient(graph.parameters().size(), 0.0f);
    const LossSums sums = BatchRunner(graph, threads).differentiate(source, batch, loss, 0, gradient);
    EXPECT_NEAR(sums.mean_loss(), expected_loss, 1e-5 * (1 + expected_loss));
    for (std::size_t round = 0; round < slopes.size(); ++round) {
      double product = 0, square = 0;
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        product += static_cast<double>(gradient[i]) * directions[round][i];
        square += directions[round][i] * directions[round][i];
      }
      EXPECT_NEAR(product, slopes[round],
                  3e-5 * (1 + std::abs(slopes[round])) * std::max(1.0, std::sqrt(square)))
          << round;
    }
    for (std::size_t i = 0; i < expected_statistics.size(); ++i)
      EXPECT_NEAR(graph.statistics()[i], expected_statistics[i],
                  1e-5 * (1 + std::abs(expected_statistics[i])));
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace lwsvm
