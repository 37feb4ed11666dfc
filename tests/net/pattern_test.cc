// Recorded patterns: replayed, the network is affine, and its slope is what backward computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checks.h"
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

constexpr int kSamples = 3;

WindowSpec square_window(std::int64_t size, std::int64_t stride, std::int64_t padding) {
  WindowSpec spec;
  spec.height = spec.width = size;
  spec.stride_height = spec.stride_width = stride;
  spec.pad_top = spec.pad_left = spec.pad_bottom = spec.pad_right = padding;
  return spec;
}

// Every piecewise linear layer there is; one ReLU that its pool absorbs and one that it may not.
Graph net_of_all_pieces() {
  ConvolutionSpec conv;
  conv.in_channels = 2;
  conv.out_channels = 6;
  conv.window = square_window(3, 1, 1);
  Graph graph;
  int x = graph.add_input("x", {2, 7, 7});
  const int c = graph.add("conv", layer<ConvolutionLayer>(conv), {x});
  const int bn = graph.add("bn", layer<BatchNormLayer>(6), {c});
  const int alone = graph.add("absorbed", layer<ReluLayer>(), {bn});
  const int pool = graph.add("pool", layer<MaxPoolLayer>(square_window(2, 2, 0)), {alone});
  const int shared = graph.add("shared", layer<ReluLayer>(), {c});
  const int overlapping = graph.add("overlapping", layer<MaxPoolLayer>(square_window(3, 2, 0)), {shared});
  const int average = graph.add("average", layer<AveragePoolLayer>(square_window(3, 2, 0), true), {shared});
  const int maximum = graph.add("maximum", layer<MaximumLayer>(), {pool, overlapping, average});
  const int minimum = graph.add("minimum", layer<MaximumLayer>(true), {pool, average});
  x = graph.add("leaky", layer<LeakyReluLayer>(0.2f), {minimum});
  x = graph.add("prelu", layer<PReluLayer>(6), {x});
  x = graph.add("sub", layer<SubtractLayer>(), {x, maximum});
  x = graph.add("abs", layer<AbsLayer>(), {x});
  x = graph.add("clip", layer<ClipLayer>(0.05f, 0.9f), {x});
  const int top = graph.add("top", layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::maximum), {x});
  const int flat = graph.add("flat", layer<FlattenLayer>(), {x}),
            one = graph.add("one", layer<FlattenLayer>(), {top});
  x = graph.add("join", layer<ConcatLayer>(0), {flat, one});
  graph.add("svm", layer<DenseLayer>(graph.node(x).shape[0], 5), {x});
  randomise(graph, 7);
  return graph;
}

class Replay : public testing::Test {
 protected:
  explicit Replay(Graph graph = net_of_all_pieces()) : graph_(std::move(graph)) {
    ProgramOptions options;
    options.samples = kSamples;
    options.input_gradients = {0};
    program_ = std::make_unique<Program>(graph_, options);
    program_->load(graph_);
    workspace_ = program_->make_workspace();
  }

  std::vector<float> input(std::uint64_t seed) const {
    Random random(seed, 41);
    return random_floats(kSamples * element_count(graph_.node(0).shape), -2, 2, random);
  }
  std::vector<float> run(const std::vector<float>& in, PatternUse use) {
    std::copy(in.begin(), in.end(), program_->input(workspace_));
    program_->forward(workspace_, use);
    const float* out = program_->output(workspace_);
    return {out, out + kSamples * program_->output_spec().size()};
  }

  Graph graph_;
  std::unique_ptr<Program> program_;
  Workspace workspace_;
};

TEST_F(Replay, OnTheRecordedInputsGivesTheSameBits) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const std::vector<float> recorded = run(input(seed), PatternUse::record);
    EXPECT_EQ(run(input(seed), PatternUse::replay), recorded);
    EXPECT_EQ(run(input(seed), PatternUse::ignore), recorded);
  }
}

TEST_F(Replay, IsAffineInTheInput) {
  run(input(1), PatternUse::record);
  const std::vector<float> x = input(2), y = input(3);
  std::vector<float> mixed(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) mixed[i] = 0.75f * x[i] - 1.25f * y[i];
  const std::vector<float> zero = run(std::vector<float>(x.size(), 0.0f), PatternUse::replay);
  const std::vector<float> fx = run(x, PatternUse::replay), fy = run(y, PatternUse::replay),
                           fm = run(mixed, PatternUse::replay);
  const std::vector<float> bent = run(mixed, PatternUse::ignore);
  double difference = 0;
  for (std::size_t i = 0; i < fm.size(); ++i) {
    EXPECT_NEAR(fm[i] - zero[i], 0.75f * (fx[i] - zero[i]) - 1.25f * (fy[i] - zero[i]), 2e-4);
    difference += std::abs(static_cast<double>(fm[i] - bent[i]));
  }
  EXPECT_GT(difference, 0.1) << "the pattern of another input should matter";
}

TEST_F(Replay, HasTheSlopeThatBackwardComputes) {
  run(input(1), PatternUse::record);
  const std::vector<float> x = input(2), y = input(3);
  const std::vector<float> fx = run(x, PatternUse::replay), fy = run(y, PatternUse::replay);
  Random random(9);
  const std::vector<float> functional = random_floats(static_cast<std::int64_t>(fx.size()), -1, 1, random);
  std::copy(functional.begin(), functional.end(), program_->output_gradient(workspace_));
  program_->backward(workspace_, nullptr);
  const float* slope = program_->input_gradient(workspace_);
  double expected = 0, found = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    found += static_cast<double>(slope[i]) * static_cast<double>(y[i] - x[i]);
  for (std::size_t i = 0; i < fx.size(); ++i)
    expected += static_cast<double>(functional[i]) * static_cast<double>(fy[i] - fx[i]);
  EXPECT_NEAR(found, expected, 1e-4 * (1 + std::abs(expected)));
  EXPECT_GT(std::abs(expected), 0.01);
}

TEST_F(Replay, NeedsNoBackwardPass) {
  ProgramOptions options;
  options.samples = kSamples;
  options.record_patterns = true;
  Program forward_only(graph_, options);
  forward_only.load(graph_);
  Workspace workspace = forward_only.make_workspace();
  const auto run_it = [&](const std::vector<float>& in, PatternUse use) {
    std::copy(in.begin(), in.end(), forward_only.input(workspace));
    forward_only.forward(workspace, use);
    const float* out = forward_only.output(workspace);
    return std::vector<float>(out, out + kSamples * 5);
  };
  const std::vector<float> recorded = run_it(input(1), PatternUse::record);
  EXPECT_EQ(recorded, run(input(1), PatternUse::record));
  EXPECT_EQ(run_it(input(2), PatternUse::replay), run(input(2), PatternUse::replay));
}

// One layer on one sample: the gradient of the sum of its outputs.
std::vector<float> slope_of(std::shared_ptr<const Layer> what, const std::vector<Shape>& shapes,
                            const std::vector<std::vector<float>>& values) {
  Graph graph;
  ProgramOptions options;
  std::vector<int> inputs;
  for (std::size_t k = 0; k < shapes.size(); ++k)
    inputs.push_back(graph.add_input("x" + std::to_string(k), shapes[k]));
  graph.add("layer", std::move(what), inputs);
  options.input_gradients = inputs;
  Program program(graph, options);
  program.load(graph);
  Workspace workspace = program.make_workspace();
  for (std::size_t k = 0; k < values.size(); ++k)
    std::copy(values[k].begin(), values[k].end(), program.input(workspace, static_cast<int>(k)));
  program.forward(workspace, PatternUse::record);
  std::fill_n(program.output_gradient(workspace), program.output_spec().size(), 1.0f);
  program.backward(workspace, nullptr);
  std::vector<float> slopes;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const float* slope = program.input_gradient(workspace, static_cast<int>(k));
    slopes.insert(slopes.end(), slope, slope + values[k].size());
  }
  return slopes;
}

using Slopes = std::vector<float>;

TEST(Relu, IsOffAtZero) {
  EXPECT_EQ(slope_of(layer<ReluLayer>(), {{4}}, {{-1, 0, -0.0f, 1}}), (Slopes{0, 0, 0, 1}));
  EXPECT_EQ(slope_of(layer<LeakyReluLayer>(0.5f), {{3}}, {{-1, 0, 1}}), (Slopes{0.5f, 0.5f, 1}));
}

TEST(Clip, IsFlatBelowAndHasTheLowerPieceAtItsEnds) {
  EXPECT_EQ(slope_of(layer<ClipLayer>(0.0f, 6.0f), {{5}}, {{-1, 0, 3, 6, 7}}), (Slopes{0, 0, 1, 1, 0}));
}

TEST(MaxPool, GradientGoesToTheFirstOfEqualTaps) {
  EXPECT_EQ(slope_of(layer<MaxPoolLayer>(square_window(2, 2, 0)), {{1, 2, 4}}, {{1, 1, 0, 5, 1, 1, 5, 5}}),
            (Slopes{1, 0, 0, 1, 0, 0, 0, 0}));
}

TEST(MaxPool, NeverPicksPaddingEvenWhereAllIsNegative) {
  EXPECT_EQ(slope_of(layer<MaxPoolLayer>(square_window(3, 3, 1)), {{1, 2, 2}}, {{-4, -3, -2, -1}}),
            (Slopes{0, 0, 0, 1}));
}

TEST(Maximum, GradientGoesToTheFirstOfEqualInputs) {
  for (bool minimum : {false, true})
    EXPECT_EQ(slope_of(layer<MaximumLayer>(minimum), {{2}, {2}, {2}}, {{1, 2}, {1, 2}, {1, 2}}),
              (Slopes{1, 1, 0, 0, 0, 0}));
}

TEST(GlobalMaxPool, GradientGoesToTheFirstOfEqualPixels) {
  EXPECT_EQ(slope_of(layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::maximum), {{2, 1, 3}},
                     {{1, 2, 2, 0, 0, 0}}),
            (Slopes{0, 1, 0, 1, 0, 0}));
}

// The pool that absorbs a ReLU must be the two layers to the last tie.
TEST(AbsorbedRelu, IsOffWhereTheWholeWindowIsNotPositive) {
  Graph graph;
  const int x = graph.add_input("x", {1, 2, 6});
  const int relu = graph.add("relu", layer<ReluLayer>(), {x});
  graph.add("pool", layer<MaxPoolLayer>(square_window(2, 2, 0)), {relu});
  ProgramOptions options;
  options.input_gradients = {x};
  Program program(graph, options);
  Workspace workspace = program.make_workspace();
  const std::vector<float> values{-1, 0, 2, 2, -1, 3, 0, -2, 1, 2, 3, -3};
  std::copy(values.begin(), values.end(), program.input(workspace));
  program.forward(workspace, PatternUse::record);
  EXPECT_EQ(std::vector<float>(program.output(workspace), program.output(workspace) + 3), (Slopes{0, 2, 3}));
  std::fill_n(program.output_gradient(workspace), 3, 1.0f);
  program.backward(workspace, nullptr);
  const float* slope = program.input_gradient(workspace);
  EXPECT_EQ(std::vector<float>(slope, slope + 12), (Slopes{0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  // Replayed on other values: the window that was off stays off, the others keep their winners.
  const std::vector<float> others{9, 9, -1, 9, 9, -2, 9, 9, 9, 9, 9, 9};
  std::copy(others.begin(), others.end(), program.input(workspace));
  program.forward(workspace, PatternUse::replay);
  EXPECT_EQ(std::vector<float>(program.output(workspace), program.output(workspace) + 3),
            (Slopes{0, -1, -2}));
}

TEST(Dropout, ReplaysWhatItDropped) {
  Graph graph;
  graph.add("dropout", layer<DropoutLayer>(0.5f), {graph.add_input("x", {100})});
  ProgramOptions options;
  options.training = true;
  Program program(graph, options);
  Workspace workspace = program.make_workspace();
  const auto run = [&](float value, PatternUse use, std::uint64_t draw) {
    std::fill_n(program.input(workspace), 100, value);
    program.forward(workspace, use, 0, nullptr, draw);
    return std::vector<float>(program.output(workspace), program.output(workspace) + 100);
  };
  const std::vector<float> first = run(1, PatternUse::record, 1);
  EXPECT_NE(run(1, PatternUse::record, 2), first);
  run(1, PatternUse::record, 1);
  std::vector<float> replayed = run(3, PatternUse::replay, 2);
  for (float& value : replayed) value /= 3;
  EXPECT_EQ(replayed, first);
}

}  // namespace
}  // namespace lwsvm
