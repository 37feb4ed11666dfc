// Every kind of layer, in every variant, against the naive network: output and gradients, batches of 1
// and 37.
#include <gtest/gtest.h>

#include "base/error.h"
#include "checks.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/frozen_layers.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/shape_layers.h"
#include "net/layers/smooth_layers.h"
#include "net/layers/softmax_layer.h"
#include "net/program.h"

namespace lwsvm {
namespace {

struct Size {
  std::int64_t height, width;
};

ConvolutionSpec convolution(std::int64_t in, std::int64_t out, Size window) {
  ConvolutionSpec spec;
  spec.in_channels = in;
  spec.out_channels = out;
  spec.window.height = window.height;
  spec.window.width = window.width;
  return spec;
}

WindowSpec window(std::int64_t height, std::int64_t width, std::int64_t stride) {
  WindowSpec spec;
  spec.height = height;
  spec.width = width;
  spec.stride_height = spec.stride_width = stride;
  return spec;
}

void pad(WindowSpec& spec, std::int64_t top, std::int64_t left, std::int64_t bottom, std::int64_t right) {
  spec.pad_top = top;
  spec.pad_left = left;
  spec.pad_bottom = bottom;
  spec.pad_right = right;
}

TEST(Convolution, FollowsItsDefinition) {
  ConvolutionSpec spec = convolution(3, 5, {3, 3});
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{3, 5, 7}}, "plain");
  spec.bias = false;
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{3, 5, 7}}, "without bias");
  spec = convolution(3, 4, {3, 2});
  spec.window.stride_height = 2;
  spec.window.stride_width = 3;
  pad(spec.window, 1, 0, 2, 1);
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{3, 7, 5}}, "stride and uneven padding");
  spec = convolution(2, 3, {3, 3});
  spec.window.dilation_height = 2;
  spec.window.dilation_width = 3;
  pad(spec.window, 2, 3, 1, 0);
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{2, 5, 7}}, "dilation");
  spec = convolution(6, 9, {3, 1});
  spec.groups = 3;
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{6, 5, 3}}, "groups");
  spec = convolution(8, 8, {3, 3});
  spec.groups = 8;
  pad(spec.window, 1, 1, 1, 1);
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{8, 5, 5}}, "one channel a group");
  spec = convolution(16, 8, {1, 1});
  spec.window.stride_height = spec.window.stride_width = 2;
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{16, 5, 5}}, "1x1 with stride");
  spec = convolution(1, 12, {5, 5});
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{1, 9, 9}}, "one channel in");
  spec = convolution(16, 3, {3, 3});
  pad(spec.window, 1, 1, 1, 1);
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{16, 3, 5}}, "backward as a flipped forward");
  spec = convolution(16, 3, {3, 2});
  pad(spec.window, 2, 0, 0, 1);
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{16, 3, 5}}, "the same with uneven padding");
  spec = convolution(9, 3, {2, 2});
  pad(spec.window, 2, 2, 2, 2);
  expect_layer_like_naive(layer<ConvolutionLayer>(spec), {{9, 3, 3}},
                          "padding wider than the window reaches");
}

TEST(Dense, FollowsItsDefinition) {
  expect_layer_like_naive(layer<DenseLayer>(13, 7), {{13}}, "with bias");
  expect_layer_like_naive(layer<DenseLayer>(13, 7, false), {{13}}, "without bias");
  expect_layer_like_naive(layer<DenseLayer>(1, 1), {{1}}, "1 to 1");
  expect_layer_like_naive(layer<DenseLayer>(65, 33), {{65}}, "larger");
}

TEST(Activations, FollowTheirDefinition) {
  for (const Shape& shape : {Shape{11}, Shape{3, 3, 5}}) {
    expect_layer_like_naive(layer<ReluLayer>(), {shape}, "Relu");
    expect_layer_like_naive(layer<LeakyReluLayer>(0.1f), {shape}, "LeakyRelu");
    expect_layer_like_naive(layer<LeakyReluLayer>(1.5f), {shape}, "LeakyRelu that is concave");
    expect_layer_like_naive(layer<ClipLayer>(-0.25f, 0.5f), {shape}, "Clip");
    expect_layer_like_naive(layer<AbsLayer>(), {shape}, "Abs");
    expect_layer_like_naive(layer<PReluLayer>(1), {shape}, "PRelu with one slope");
    expect_layer_like_naive(layer<PReluLayer>(shape[0]), {shape}, "PRelu with a slope per channel");
  }
}

TEST(Maximum, FollowsItsDefinition) {
  for (bool minimum : {false, true})
    for (std::size_t inputs : {1, 2, 3, 5}) {
      const std::string what = (minimum ? "Min of " : "Max of ") + std::to_string(inputs);
      expect_layer_like_naive(layer<MaximumLayer>(minimum), std::vector<Shape>(inputs, {2, 3, 3}), what);
      expect_layer_like_naive(layer<MaximumLayer>(minimum), std::vector<Shape>(inputs, {7}), what);
    }
}

std::vector<std::pair<WindowSpec, std::string>> pools() {
  std::vector<std::pair<WindowSpec, std::string>> all;
  all.emplace_back(window(2, 2, 2), "2x2");
  all.emplace_back(window(3, 2, 1), "overlapping");
  all.emplace_back(window(2, 2, 3), "with gaps");
  WindowSpec spec = window(3, 3, 2);
  pad(spec, 1, 0, 2, 1);
  all.emplace_back(spec, "uneven padding");
  spec = window(2, 2, 2);
  spec.ceil_mode = true;
  all.emplace_back(spec, "ceil");
  spec = window(3, 3, 2);
  spec.ceil_mode = true;
  pad(spec, 1, 1, 1, 1);
  all.emplace_back(spec, "ceil and padding");
  spec = window(2, 3, 1);
  spec.dilation_height = 2;
  spec.dilation_width = 2;
  all.emplace_back(spec, "dilation");
  spec = window(3, 2, 2);
  spec.dilation_height = 2;
  spec.ceil_mode = true;
  pad(spec, 2, 1, 1, 0);
  all.emplace_back(spec, "dilation, ceil and padding");
  spec = window(2, 2, 3);
  spec.ceil_mode = true;
  pad(spec, 0, 0, 1, 1);
  all.emplace_back(spec, "ceil whose last window would begin in the padding");
  return all;
}

TEST(MaxPool, FollowsItsDefinition) {
  for (const auto& [spec, what] : pools())
    for (const Shape& shape : {Shape{3, 7, 6}, Shape{1, 5, 5}, Shape{9, 5, 7}}) {
      if (repetitions(0, 1) && shape[0] != 9) continue;
      expect_layer_like_naive(layer<MaxPoolLayer>(spec), {shape}, what + " of " + to_string(shape));
    }
}

TEST(AveragePool, FollowsItsDefinition) {
  for (const auto& [spec, what] : pools())
    for (bool count_padding : {false, true})
      for (const Shape& shape : {Shape{3, 7, 6}, Shape{9, 5, 7}})
        expect_layer_like_naive(
            layer<AveragePoolLayer>(spec, count_padding), {shape},
            what + " of " + to_string(shape) + (count_padding ? ", counting padding" : ""));
}

TEST(GlobalPool, FollowsItsDefinition) {
  for (const Shape& shape : {Shape{3, 7, 5}, Shape{1, 3, 3}, Shape{9, 1, 1}}) {
    expect_layer_like_naive(layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average), {shape}, "average");
    expect_layer_like_naive(layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::maximum), {shape}, "maximum");
  }
}

TEST(BatchNorm, FrozenFollowsItsDefinition) {
  expect_layer_like_naive(layer<BatchNormLayer>(5), {{5, 3, 7}}, "images");
  expect_layer_like_naive(layer<BatchNormLayer>(11, 1e-2f), {{11}}, "vectors");
}

TEST(Arithmetic, FollowsItsDefinition) {
  for (const Shape& shape : {Shape{11}, Shape{3, 3, 5}, Shape{4, 3}}) {
    expect_layer_like_naive(layer<AddLayer>(), {shape}, "Add of one");
    expect_layer_like_naive(layer<AddLayer>(), {shape, shape}, "Add of two");
    expect_layer_like_naive(layer<AddLayer>(), {shape, shape, shape}, "Add of three");
    expect_layer_like_naive(layer<SubtractLayer>(), {shape, shape}, "Sub");
    Random random(5);
    for (std::int64_t scales : {std::int64_t{1}, shape[0], element_count(shape)})
      for (std::int64_t offsets : {std::int64_t{1}, shape[0], element_count(shape)}) {
        const auto a = random_floats(scales, 0.5, 2, random), b = random_floats(offsets, -1, 1, random);
        const std::string what = std::to_string(scales) + " and " + std::to_string(offsets) + " constants";
        expect_layer_like_naive(layer<AffineLayer>(a, b), {shape}, "Affine with " + what);
        expect_layer_like_naive(layer<NormalizeLayer>(b, a), {shape}, "Normalize with " + what);
      }
    expect_layer_like_naive(layer<AffineLayer>(std::vector<float>{}, std::vector<float>{}), {shape},
                            "Affine of nothing");
  }
}

TEST(Concat, JoinsAlongEveryAxis) {
  expect_layer_like_naive(layer<ConcatLayer>(0), {{2, 3, 5}, {1, 3, 5}, {4, 3, 5}}, "channels");
  expect_layer_like_naive(layer<ConcatLayer>(1), {{2, 3, 5}, {2, 1, 5}, {2, 4, 5}}, "rows");
  expect_layer_like_naive(layer<ConcatLayer>(2), {{2, 3, 5}, {2, 3, 1}, {2, 3, 4}}, "columns");
  expect_layer_like_naive(layer<ConcatLayer>(0), {{5}, {1}, {7}}, "vectors");
  expect_layer_like_naive(layer<ConcatLayer>(0), {{5, 2}, {1, 2}}, "rows of matrices");
  expect_layer_like_naive(layer<ConcatLayer>(1), {{5, 2}, {5, 3}}, "columns of matrices");
  expect_layer_like_naive(layer<ConcatLayer>(0), {{2, 3, 5}}, "one input");
}

TEST(Moving, PutsEveryElementWhereItBelongs) {
  expect_layer_like_naive(layer<FlattenLayer>(), {{3, 5, 7}}, "Flatten");
  expect_layer_like_naive(layer<ReshapeLayer>(Shape{5, 3, 7}), {{3, 5, 7}}, "Reshape to an image");
  expect_layer_like_naive(layer<ReshapeLayer>(Shape{15, -1}), {{3, 5, 7}}, "Reshape with an open axis");
  expect_layer_like_naive(layer<ReshapeLayer>(Shape{2, 3, 2}), {{12}}, "Reshape of a vector");
  for (const auto& order : std::vector<std::vector<std::int64_t>>{
           {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}})
    expect_layer_like_naive(layer<TransposeLayer>(order), {{3, 5, 7}}, "Transpose");
  expect_layer_like_naive(layer<TransposeLayer>(std::vector<std::int64_t>{1, 0}), {{5, 7}},
                          "Transpose of a matrix");
  expect_layer_like_naive(layer<PadLayer>(Shape{0, 1, 2}, Shape{1, 0, 3}, 0.25f), {{3, 5, 2}}, "Pad");
  expect_layer_like_naive(layer<PadLayer>(Shape{2}, Shape{1}, 0.0f), {{5}}, "Pad of a vector");
  expect_layer_like_naive(layer<PadLayer>(Shape{0, -1, 1}, Shape{0, 0, -1}, 0.0f), {{3, 5, 4}},
                          "Pad that crops");
  expect_layer_like_naive(layer<SliceLayer>(Shape{0, 1, 0}, Shape{1, 2, 3}, Shape{2, 2, 2}), {{3, 5, 7}},
                          "Slice with steps");
  expect_layer_like_naive(layer<SliceLayer>(Shape{2, 4, 0}, Shape{-1, -2, 1}, Shape{3, 3, 7}), {{3, 5, 7}},
                          "Slice backwards");
  expect_layer_like_naive(layer<SliceLayer>(Shape{3}, Shape{4}, Shape{2}), {{9}}, "Slice of a vector");
  expect_layer_like_naive(layer<DropoutLayer>(0.5f), {{3, 5, 7}}, "Dropout outside of training");
}

TEST(Smooth, FollowTheirDefinitions) {
  expect_layer_like_naive(layer<TanhLayer>(), {{3, 5, 7}}, "Tanh");
  expect_layer_like_naive(layer<ProductLayer>(), {{3, 5, 7}, {3, 5, 7}}, "Mul");
  expect_layer_like_naive(layer<ResponseNormLayer>(3, 0.5f, 0.75f, 1.0f), {{7, 3, 2}}, "LRN");
  expect_layer_like_naive(layer<ResponseNormLayer>(4, 2.0f, 0.5f, 2.0f), {{5, 3, 2}}, "LRN, even");
  expect_layer_like_naive(layer<ResponseNormLayer>(9, 1.0f, 1.0f, 1.0f), {{3, 1, 2}}, "LRN, wide");
}

TEST(Frozen, FunctionsFollowTheirDefinitions) {
  for (const Function function :
       {Function::elu, Function::selu, Function::celu, Function::softplus, Function::softsign, Function::erf,
        Function::gelu, Function::gelu_tanh, Function::exp}) {
    const auto made = layer<FunctionLayer>(function, 0.7f, 1.3f);
    expect_layer_like_naive(made, {{3, 5, 7}}, std::string(to_string(made->kind())));
  }
  expect_layer_like_naive(layer<FunctionLayer>(Function::thresholded_relu, 0.3f), {{11}}, "ThresholdedRelu");
  // Of what is positive.
  for (const Function function : {Function::sqrt, Function::power, Function::reciprocal}) {
    Graph graph;
    const int x = graph.add("exp", layer<FunctionLayer>(Function::exp), {graph.add_input("x", {3, 5, 7})});
    graph.add("function", layer<FunctionLayer>(function, 1.7f), {x});
    expect_like_naive(graph, 5, 12);
  }
  Graph graph;
  const int x = graph.add_input("x", {3, 5, 7}), y = graph.add_input("y", {3, 5, 7});
  graph.add("ratio", layer<QuotientLayer>(), {x, graph.add("exp", layer<FunctionLayer>(Function::exp), {y})});
  expect_like_naive(graph, 5, 12);
}

TEST(Frozen, StandardizeFollowsItsDefinition) {
  expect_layer_like_naive(layer<StandardizeLayer>(0.1f), {{11}}, "of a vector");
  expect_layer_like_naive(layer<StandardizeLayer>(1e-5f), {{4, 9}}, "row by row");
}

TEST(Resize, FollowsItsDefinition) {
  using Axis = ResizeLayer::Axis;
  const auto repeated = [](const Shape& from, const Shape& to) {
    return std::make_shared<ResizeLayer>(ResizeLayer::repeating(from, to));
  };
  expect_layer_like_naive(repeated({3, 1, 1}, {3, 5, 7}), {{3, 1, 1}}, "a gate");
  expect_layer_like_naive(repeated({1, 4}, {6, 4}), {{1, 4}}, "rows");
  const Axis same{{{0, 1.0f}}, {{1, 1.0f}}, {{2, 1.0f}}};
  const Axis between{{{0, 1.0f}}, {{0, 0.75f}, {1, 0.25f}}, {{0, 0.25f}, {1, 0.75f}}, {{1, 1.0f}}};
  const Axis fewer{{{3, 0.5f}, {4, 0.5f}}, {{1, 1.0f}}};
  expect_layer_like_naive(layer<ResizeLayer>(std::vector<Axis>{same, between, fewer}), {{3, 2, 5}}, "linear");
  EXPECT_THROW(ResizeLayer(std::vector<Axis>{{{{0, -1.0f}}}}), Error);
}

TEST(Smooth, SigmoidAndTheLogarithmOfASoftmaxFollowTheirDefinitions) {
  for (int samples : {1, 37})
    for (bool log : {false, true}) {
      Graph graph;
      int x = graph.add_input("x", {3, 5, 7});
      x = graph.add("smooth", log ? layer<SoftmaxLayer>() : layer<SigmoidLayer>(), {x});
      if (log) x = graph.add("log", layer<LogLayer>(), {x});
      graph.add("after", layer<AffineLayer>(std::vector<float>{2.0f}, std::vector<float>{1.0f}),
                {x});  // or they would be left out of the scores
      expect_like_naive(graph, samples, 12);
    }
}

TEST(Smooth, AValueTimesItsOwnSigmoid) {  // one value that is used twice
  Graph graph;
  const int x = graph.add_input("x", {3, 2, 2});
  graph.add("swish", layer<ProductLayer>(), {x, graph.add("gate", layer<SigmoidLayer>(), {x})});
  expect_like_naive(graph, 5, 11);
}

TEST(Smooth, SigmoidSurvivesLargeInputs) {
  Graph graph;
  ProgramOptions options;
  options.target = graph.add("sigmoid", layer<SigmoidLayer>(), {graph.add_input("x", {4})});
  Program program(graph, options);
  program.load(graph);
  Workspace workspace = program.make_workspace();
  const float values[] = {-1e30f, -100.0f, 100.0f, 1e30f};
  std::copy_n(values, 4, program.input(workspace));
  program.forward(workspace, PatternUse::ignore);
  const float* y = program.output(workspace);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_NEAR(y[1], 3.78e-44, 1e-45);
  EXPECT_EQ(y[2], 1.0f);
  EXPECT_EQ(y[3], 1.0f);
}

TEST(Softmax, FollowsItsDefinition) {
  for (bool logarithm : {false, true})
    for (const Shape& shape : {Shape{10}, Shape{3, 4}})
      for (int samples : {1, 37}) {
        Graph graph;
        graph.add("softmax", layer<SoftmaxLayer>(logarithm), {graph.add_input("x", shape)});
        graph.add("after", layer<AffineLayer>(std::vector<float>{2.0f}, std::vector<float>{1.0f}),
                  {1});  // or it would be left out: scores are what goes into a softmax
        expect_like_naive(graph, samples, 3);
      }
}

TEST(ArgMax, IsTheFirstOrTheLastOfTheLargest) {
  for (bool last : {false, true}) {
    Graph graph;
    const int x = graph.add_input("x", {2, 3});
    ProgramOptions options;
    options.target = graph.add("argmax", layer<ArgMaxLayer>(last), {x});
    EXPECT_EQ(graph.node(options.target).shape, (Shape{2, 1}));
    EXPECT_EQ(graph.scores(), x);
    Program program(graph, options);
    program.load(graph);
    Workspace workspace = program.make_workspace();
    const float values[] = {1, 5, 5, 7, 2, 7};
    std::copy_n(values, 6, program.input(workspace));
    program.forward(workspace, PatternUse::ignore);
    EXPECT_EQ(program.output(workspace)[0], last ? 2.0f : 1.0f);
    EXPECT_EQ(program.output(workspace)[1], last ? 2.0f : 0.0f);
  }
}

TEST(Graph, FindsTheScoresBeforeWhateverTurnsThemIntoClasses) {
  Graph graph;
  int x = graph.add_input("x", {4, 1, 1});
  const int scores = x = graph.add("abs", layer<AbsLayer>(), {x});
  x = graph.add("softmax", layer<SoftmaxLayer>(), {x});
  x = graph.add("list", layer<FlattenLayer>(), {x});
  graph.add("class", layer<ArgMaxLayer>(), {x});
  EXPECT_EQ(graph.scores(), scores);
}

TEST(Graph, ASigmoidOrALogarithmIsLeftOutOfTheScoresAtTheEndOnly) {
  for (bool log : {false, true}) {
    Graph graph;
    int x = graph.add_input("x", {4});
    x = graph.add("hidden", layer<SigmoidLayer>(), {x});
    const int scores = x = graph.add("dense", layer<DenseLayer>(4, 3), {x});
    x = graph.add("head", log ? layer<SoftmaxLayer>() : layer<SigmoidLayer>(), {x});
    if (log) graph.add("log", layer<LogLayer>(), {x});
    EXPECT_EQ(graph.scores(), scores);
  }
}

TEST(Softmax, AtTheEndIsLeftOutOfTheScoresAndSurvivesLargeOnes) {
  Graph graph;
  const int x = graph.add_input("x", {3});
  const int affine =
      graph.add("affine", layer<AffineLayer>(std::vector<float>{1000.0f}, std::vector<float>{0.0f}), {x});
  const int softmax = graph.add("softmax", layer<SoftmaxLayer>(), {affine});
  EXPECT_EQ(graph.scores(), affine);
  ProgramOptions options;
  options.target = softmax;
  Program program(graph, options);
  program.load(graph);
  Workspace workspace = program.make_workspace();
  const float values[] = {1, 3, 2};
  std::copy_n(values, 3, program.input(workspace));
  program.forward(workspace, PatternUse::ignore);
  EXPECT_EQ(program.output(workspace)[0], 0.0f);
  EXPECT_EQ(program.output(workspace)[1], 1.0f);
}

}  // namespace
}  // namespace lwsvm
