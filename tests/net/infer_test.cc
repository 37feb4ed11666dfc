// Shapes that do not fit are told by the layer's name, before anything runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
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
#include "net/layers/smooth_layers.h"
#include "net/layers/softmax_layer.h"
#include "net/regulariser.h"

namespace lwsvm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

template <typename Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string misfit(std::shared_ptr<const Layer> what, const std::vector<Shape>& shapes) {
  Graph graph;
  std::vector<int> inputs;
  for (const Shape& shape : shapes) inputs.push_back(graph.add_input("x", shape));
  return message_of([&] { graph.add("culprit", std::move(what), inputs); });
}

ConvolutionSpec convolution(std::int64_t in, std::int64_t out, std::int64_t size) {
  ConvolutionSpec spec;
  spec.in_channels = in;
  spec.out_channels = out;
  spec.window.height = spec.window.width = size;
  return spec;
}

WindowSpec window(std::int64_t size) {
  WindowSpec spec;
  spec.height = spec.width = size;
  return spec;
}

#define EXPECT_MISFIT(what, shapes, ...)               \
  EXPECT_THAT(misfit(what, std::vector<Shape> shapes), \
              AllOf(StartsWith("[net]"), HasSubstr("'culprit'"), __VA_ARGS__))

TEST(Infer, NamesTheLayerWhoseInputsDoNotFit) {
  EXPECT_MISFIT(layer<ConvolutionLayer>(convolution(3, 4, 3)), ({{1, 9, 9}}), HasSubstr("3 channels"));
  EXPECT_MISFIT(layer<ConvolutionLayer>(convolution(3, 4, 3)), ({{27}}), HasSubstr("images"));
  EXPECT_MISFIT(layer<ConvolutionLayer>(convolution(3, 4, 5)), ({{3, 4, 9}}), HasSubstr("does not fit"));
  EXPECT_MISFIT(layer<DenseLayer>(10, 3), ({{11}}), HasSubstr("10 features"));
  EXPECT_MISFIT(layer<DenseLayer>(12, 3), ({{3, 2, 2}}), HasSubstr("Flatten"));
  EXPECT_MISFIT(layer<BatchNormLayer>(4), ({{3, 5, 5}}), HasSubstr("4 channels"));
  EXPECT_MISFIT(layer<BatchNormLayer>(4), ({{4, 5}}), HasSubstr("images or vectors"));
  EXPECT_MISFIT(layer<PReluLayer>(4), ({{3, 5, 5}}), HasSubstr("4 slopes"));
  EXPECT_MISFIT(layer<ReluLayer>(), ({{3}, {3}}), HasSubstr("one input"));
  EXPECT_MISFIT(layer<AddLayer>(), ({{3}, {4}}), AllOf(HasSubstr("3"), HasSubstr("4")));
  EXPECT_MISFIT(layer<AddLayer>(), ({}), HasSubstr("at least one"));
  EXPECT_MISFIT(layer<SubtractLayer>(), ({{3}}), HasSubstr("two inputs"));
  EXPECT_MISFIT(layer<SubtractLayer>(), ({{3}, {2}}), HasSubstr("one shape"));
  EXPECT_MISFIT(layer<MaximumLayer>(), ({{3}, {3, 1, 1}}), HasSubstr("one shape"));
  EXPECT_MISFIT(layer<MaxPoolLayer>(window(4)), ({{1, 3, 9}}), HasSubstr("does not fit"));
  EXPECT_MISFIT(layer<AveragePoolLayer>(window(4), false), ({{12}}), HasSubstr("images"));
  EXPECT_MISFIT(layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average), ({{12}}), HasSubstr("images"));
  EXPECT_MISFIT(layer<ConcatLayer>(0), ({{2, 3, 4}, {2, 3, 5}}), HasSubstr("2x3x5"));
  EXPECT_MISFIT(layer<ConcatLayer>(0), ({{2, 3, 4}, {24}}), HasSubstr("24"));
  EXPECT_MISFIT(layer<ConcatLayer>(3), ({{2, 3, 4}}), HasSubstr("axis 3"));
  EXPECT_MISFIT(layer<AffineLayer>(std::vector<float>{1, 2}, std::vector<float>{}), ({{3, 2, 2}}),
                HasSubstr("2 values"));
  EXPECT_MISFIT(layer<NormalizeLayer>(std::vector<float>{1, 2}, std::vector<float>{}), ({{3, 2, 2}}),
                HasSubstr("2 values"));
  EXPECT_MISFIT(layer<ReshapeLayer>(Shape{5, -1}), ({{12}}), HasSubstr("cannot reshape"));
  EXPECT_MISFIT(layer<ReshapeLayer>(Shape{-1, -1}), ({{12}}), HasSubstr("cannot reshape"));
  EXPECT_MISFIT(layer<TransposeLayer>(std::vector<std::int64_t>{0, 1}), ({{3, 4, 5}}), HasSubstr("axes"));
  EXPECT_MISFIT(layer<TransposeLayer>(std::vector<std::int64_t>{0, 0, 1}), ({{3, 4, 5}}),
                HasSubstr("every axis once"));
  EXPECT_MISFIT(layer<PadLayer>(Shape{1}, Shape{1}, 0.0f), ({{3, 4, 5}}), HasSubstr("axes"));
  EXPECT_MISFIT(layer<PadLayer>(Shape{-2}, Shape{-1}, 0.0f), ({{3}}), HasSubstr("empty"));
  EXPECT_MISFIT(layer<SliceLayer>(Shape{1}, Shape{2}, Shape{3}), ({{5}}), HasSubstr("leaves axis 0"));
  EXPECT_MISFIT(layer<SliceLayer>(Shape{1}, Shape{1}, Shape{0}), ({{5}}), HasSubstr("empty"));
}

TEST(Infer, RefusesAPoolWithAWindowThatSeesOnlyPadding) {
  WindowSpec spec = window(2);
  spec.dilation_height = spec.dilation_width = 2;
  spec.pad_top = spec.pad_left = spec.pad_bottom = spec.pad_right = 1;
  EXPECT_MISFIT(layer<MaxPoolLayer>(spec), ({{1, 1, 1}}), HasSubstr("padding"));
  EXPECT_MISFIT(layer<AveragePoolLayer>(spec, true), ({{1, 5, 1}}), HasSubstr("padding"));
}

TEST(Layers, RefuseWhatMakesNoSense) {
  ConvolutionSpec groups = convolution(4, 6, 3);
  groups.groups = 3;
  EXPECT_THAT(message_of([&] { ConvolutionLayer{groups}; }), HasSubstr("3 groups"));
  ConvolutionSpec still = convolution(4, 6, 3);
  still.window.stride_width = 0;
  EXPECT_THAT(message_of([&] { ConvolutionLayer{still}; }), HasSubstr("stride"));
  WindowSpec padded = window(2);
  padded.pad_left = 2;
  EXPECT_THAT(message_of([&] { MaxPoolLayer{padded}; }), HasSubstr("padding"));
  EXPECT_THAT(message_of([&] { AveragePoolLayer(padded, true); }), HasSubstr("padding"));
  padded.pad_left = -1;
  EXPECT_THAT(message_of([&] { MaxPoolLayer{padded}; }), HasSubstr("negative"));
  EXPECT_THAT(message_of([&] { MaxPoolLayer{window(16)}; }), HasSubstr("254"));
  EXPECT_THAT(message_of([&] { MaxPoolLayer{window(0)}; }), HasSubstr("at least 1"));
  EXPECT_THAT(message_of([&] { DropoutLayer{1.0f}; }), HasSubstr("[0, 1)"));
  EXPECT_THAT(message_of([&] { ClipLayer(1.0f, 0.0f); }), HasSubstr("[1, 0]"));
  EXPECT_THAT(message_of([&] { NormalizeLayer(std::vector<float>{}, std::vector<float>{0.0f}); }),
              HasSubstr("0"));
}

TEST(Layers, SayWhetherTheyAreLinear) {
  const std::pair<std::shared_ptr<const Layer>, Linearity> known[] = {
      {layer<ConvolutionLayer>(convolution(1, 1, 1)), Linearity::linear},
      {layer<DenseLayer>(1, 1), Linearity::linear},
      {layer<BatchNormLayer>(1), Linearity::linear},
      {layer<AddLayer>(), Linearity::linear},
      {layer<ConcatLayer>(0), Linearity::linear},
      {layer<AveragePoolLayer>(window(2), false), Linearity::linear},
      {layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average), Linearity::linear},
      {layer<FlattenLayer>(), Linearity::linear},
      {layer<DropoutLayer>(0.5f), Linearity::linear},
      {layer<ReluLayer>(), Linearity::piecewise_linear},
      {layer<PReluLayer>(1), Linearity::piecewise_linear},
      {layer<ClipLayer>(0.0f, 6.0f), Linearity::piecewise_linear},
      {layer<AbsLayer>(), Linearity::piecewise_linear},
      {layer<MaximumLayer>(), Linearity::piecewise_linear},
      {layer<MaxPoolLayer>(window(2)), Linearity::piecewise_linear},
      {layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::maximum), Linearity::piecewise_linear},
      {layer<SigmoidLayer>(), Linearity::neither},
      {layer<ProductLayer>(), Linearity::neither},
      {layer<ResponseNormLayer>(3, 1.0f, 1.0f, 1.0f), Linearity::neither},
      {layer<ArgMaxLayer>(), Linearity::neither},
      {layer<SoftmaxLayer>(), Linearity::neither}};
  for (const auto& [what, linearity] : known)
    EXPECT_EQ(what->linearity(), linearity) << to_string(what->kind());
}

TEST(Graph, RegularisesWeightsAndBiasesOnly) {
  Graph graph;
  int x = graph.add_input("x", {3});
  x = graph.add("dense", layer<DenseLayer>(3, 2), {x});
  x = graph.add("bn", layer<BatchNormLayer>(2), {x});
  x = graph.add("prelu", layer<PReluLayer>(2), {x});
  ASSERT_EQ(graph.parameters().size(), 8u + 4u + 2u);
  ASSERT_EQ(graph.statistics().size(), 4u);
  std::fill(graph.parameters().begin(), graph.parameters().end(), 2.0f);
  EXPECT_EQ(Regulariser(graph, 1.0).value(graph.parameters()), 8 * 4 / 2.0);
  const std::vector<std::uint8_t> mask = graph.regularised_mask();
  for (std::size_t i = 0; i < mask.size(); ++i) EXPECT_EQ(mask[i], i < 8);
  EXPECT_EQ(graph.find("bn"), 2);
  EXPECT_EQ(graph.find("nobody"), std::nullopt);
}

}  // namespace
}  // namespace lwsvm
