// Random networks: that the memory planner's sharing, lifetimes and detours never change a number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checks.h"
#include "net/batch_runner.h"
#include "net/program.h"
#include "random_graphs.h"

namespace lwsvm {
namespace {

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

// Where no patterns are kept, ReLU and Clip are left to the layers before them.
TEST(RandomGraph, WithoutPatternsComputesTheSameBits) {
  for (std::uint64_t seed = 0; seed < repetitions(300, 40); ++seed) {
    Random random(seed, 24);
    const int nodes = 4 + static_cast<int>(random.below(14)),
              samples = 1 + static_cast<int>(random.below(20));
    Graph graph = Grower(seed).grow(nodes);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + describe(graph));
    randomise(graph, seed);
    const int other = static_cast<int>(random.below(graph.nodes().size()));
    std::vector<std::vector<float>> inputs;
    for (int input : graph.inputs())
      inputs.push_back(random_floats(samples * element_count(graph.node(input).shape), -1, 1, random));
    const auto values = [&](bool record) {
      ProgramOptions options;
      options.samples = samples;
      options.extra_targets = {other};
      options.record_patterns = record;
      Program program(graph, options);
      program.load(graph);
      Workspace workspace = program.make_workspace();
      std::fill(workspace.arena.begin(), workspace.arena.end(), std::nanf(""));
      for (std::size_t k = 0; k < inputs.size(); ++k)
        std::copy(inputs[k].begin(), inputs[k].end(), program.input(workspace, static_cast<int>(k)));
      program.forward(workspace, record ? PatternUse::record : PatternUse::ignore);
      const float* output = program.output(workspace);
      const float* extra = program.extra_output(workspace, 0);
      std::vector<float> found(output, output + samples * program.output_spec().size());
      found.insert(found.end(), extra, extra + samples * element_count(graph.node(other).shape));
      return found;
    };
    ASSERT_EQ(values(false), values(true));
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
