// Networks as other programs write them get another last layer, and normalisation of their own.
#include "model/onnx_new_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "model/foreign_file.h"
#include "model/onnx_writer.h"
#include "net/program.h"

namespace lwsvm {
namespace {

std::vector<float> random_numbers(std::int64_t count, std::uint64_t seed, double low = -1, double high = 1) {
  Random random(seed);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(low + (high - low) * random.uniform()));
  return values;
}

std::vector<float> outputs_of(const Graph& graph, const std::vector<float>& inputs, int target) {
  ProgramOptions options;
  options.samples = static_cast<int>(std::ssize(inputs) / element_count(graph.node(graph.inputs()[0]).shape));
  options.target = target;
  Program program(graph, options);
  program.load(graph);
  Workspace workspace = program.make_workspace();
  std::copy(inputs.begin(), inputs.end(), program.input(workspace));
  program.forward(workspace, PatternUse::ignore);
  const float* out = program.output(workspace);
  return {out, out + options.samples * element_count(graph.node(target).shape)};
}

std::vector<float> scores_of(const Graph& graph, const std::vector<float>& inputs) {
  return outputs_of(graph, inputs, graph.scores());
}

// 3 x 6 x 6 pixels, a convolution of 8 channels, ReLU, and then an end of some kind.
struct Style {
  std::string name;
  std::string kind;  // of the last layer
  std::function<void(File&)> end;
  bool linear = true;  // the old weights in the new layer give the old scores
};

constexpr int kOldClasses = 7;

void weights(File& file, const Shape& shape) {
  file.floats("w", shape, random_numbers(element_count(shape), 5));
  file.floats("b", {kOldClasses}, random_numbers(kOldClasses, 6));
}

std::vector<Style> styles() {
  const auto pooled = [](File& file) {
    file.node("GlobalAveragePool", {"h"}, "p");
    file.node("Flatten", {"p"}, "f");
  };
  return {
      {"gemm", "Gemm",
       [=](File& file) {
         pooled(file);
         weights(file, {kOldClasses, 8});
         File::set(file.node("Gemm", {"f", "w", "b"}), "transB", 1);
       }},
      {"gemm_untransposed", "Gemm",
       [=](File& file) {
         pooled(file);
         weights(file, {8, kOldClasses});
         file.node("Gemm", {"f", "w", "b"});
       },
       false},
      {"matmul_add_softmax", "MatMul",
       [=](File& file) {
         pooled(file);
         weights(file, {8, kOldClasses});
         file.node("MatMul", {"f", "w"}, "m");
         file.node("Add", {"m", "b"}, "s");
         file.node("Softmax", {"s"});
       },
       false},
      {"flattened_image_gemm", "Gemm",
       [=](File& file) {
         file.node("Flatten", {"h"}, "f");
         weights(file, {kOldClasses, 8 * 36});
         File::set(file.node("Gemm", {"f", "w", "b"}), "transB", 1);
       }},
      {"convolution_after_average", "Conv",
       [=](File& file) {
         file.node("GlobalAveragePool", {"h"}, "p");
         weights(file, {kOldClasses, 8, 1, 1});
         file.node("Conv", {"p", "w", "b"}, "c");
         file.node("Flatten", {"c"});
       }},
      {"convolution_before_average", "Conv",
       [=](File& file) {
         weights(file, {kOldClasses, 8, 1, 1});
         file.node("Conv", {"h", "w", "b"}, "c");
         file.node("GlobalAveragePool", {"c"}, "p");
         file.node("Flatten", {"p"});
       }},
      {"convolution_relu_average_softmax", "Conv",
       [=](File& file) {
         weights(file, {kOldClasses, 8, 1, 1});
         file.node("Conv", {"h", "w", "b"}, "c");
         file.node("Relu", {"c"}, "r");
         file.node("GlobalAveragePool", {"r"}, "p");
         file.node("Flatten", {"p"}, "s");
         file.node("Softmax", {"s"});
       },
       false},
      {"convolution_of_the_whole_image", "Conv",
       [=](File& file) {
         weights(file, {kOldClasses, 8, 6, 6});
         onnx::NodeProto& conv = file.node("Conv", {"h", "w", "b"}, "c");
         onnx::AttributeProto& kernel = *conv.add_attribute();
         kernel.set_name("kernel_shape");
         kernel.set_type(onnx::AttributeProto::INTS);
         kernel.add_ints(6);
         kernel.add_ints(6);
         file.node("Flatten", {"c"});
       }},
  };
}

Model read(const Style& style, std::int64_t opset = 13) {
  File file({0, 3, 6, 6}, opset, {0, kOldClasses});
  file.floats("w0", {8, 3, 1, 1}, random_numbers(24, 3));
  file.floats("b0", {8}, random_numbers(8, 4));
  file.node("Conv", {"x", "w0", "b0"}, "h0");
  file.node("Relu", {"h0"}, "h");
  style.end(file);
  return from_onnx_bytes(file.model().SerializeAsString(), style.name);
}

TEST(NewHead, ReplacesTheLastLayerOfEveryStyle) {
  for (const Style& style : styles())
    for (const std::int64_t opset : {9, 13}) {
      SCOPED_TRACE(style.name);
      const Model model = read(style, opset);
      const OldHead head = find_old_head(model);
      EXPECT_EQ(head.kind, style.kind);
      const Model changed = with_new_head(model, head, 4);
      EXPECT_EQ(changed.graph.node(changed.graph.scores()).shape, Shape{4});
      EXPECT_EQ(changed.graph.scores(), changed.graph.output());  // no softmax is left
      const Node& layer = changed.graph.node(new_head(changed.graph));
      EXPECT_EQ(layer.trained.size, 4 * (head.width + 1));
      for (std::int64_t i = 0; i < layer.trained.size; ++i)
        EXPECT_EQ(changed.graph.parameters()[static_cast<std::size_t>(layer.trained.begin + i)], 0.0f);
    }
}

TEST(NewHead, WithTheOldWeightsGivesTheOldScores) {
  for (const Style& style : styles()) {
    if (!style.linear) continue;
    SCOPED_TRACE(style.name);
    const Model model = read(style);
    Model changed = with_new_head(model, find_old_head(model), kOldClasses);
    int old_layer = -1;
    for (int i = 0; i < static_cast<int>(model.graph.nodes().size()); ++i)
      if (model.graph.node(i).has_weights()) old_layer = i;
    const ParameterRange from = model.graph.node(old_layer).trained;
    const ParameterRange to = changed.graph.node(new_head(changed.graph)).trained;
    ASSERT_EQ(from.size, to.size);
    std::copy_n(model.graph.parameters().begin() + from.begin, from.size,
                changed.graph.parameters().begin() + to.begin);
    const std::vector<float> x = random_numbers(5 * 108, 9);
    const std::vector<float> before = scores_of(model.graph, x), after = scores_of(changed.graph, x);
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 1e-4) << i;
  }
}

TEST(NewHead, SaysWhatGoesWithTheOldLayer) {
  for (const Style& style : styles()) {
    const OldHead head = find_old_head(read(style));
    if (style.name == "matmul_add_softmax") {
      EXPECT_THAT(head.dropped, ::testing::ElementsAre("Softmax"));
    }
    if (style.name == "gemm") {
      EXPECT_TRUE(head.dropped.empty());
    }
    if (style.name == "convolution_relu_average_softmax") {
      EXPECT_THAT(head.dropped, ::testing::ElementsAre("Softmax", "GlobalAveragePool", "Relu"));
      EXPECT_TRUE(head.averaged);
      EXPECT_EQ(head.width, 8);
    }
  }
}

TEST(NewHead, LeavesNothingOfTheOldEndBehind) {
  const Style style = styles()[2];
  const Model model = read(style);
  const Model changed = with_new_head(model, find_old_head(model), 4);
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(to_onnx_bytes(changed)));
  for (const auto& tensor : proto.graph().initializer()) EXPECT_NE(tensor.name(), "w");
  for (const auto& node : proto.graph().node()) EXPECT_NE(node.op_type(), "Softmax");
  ASSERT_EQ(proto.graph().output_size(), 1);
  EXPECT_EQ(proto.graph().output(0).name(), "y");
}

TEST(NewHead, OfANetworkThatHasOneAlreadyIsReplacedAgain) {
  const Model model = read(styles()[0]);
  const Model once = with_new_head(model, find_old_head(model), 4);
  const Model twice = with_new_head(once, find_old_head(once), 9);
  EXPECT_EQ(twice.graph.node(twice.graph.scores()).shape, Shape{9});
  EXPECT_EQ(twice.graph.nodes().size(), once.graph.nodes().size());
}

TEST(NewHead, IsRefusedWhereScoresDoNotComeFromALayer) {
  File file({0, 4}, 13, {0, 4});
  file.floats("w", {4, 4});
  file.node("MatMul", {"x", "w"}, "a");
  file.node("Add", {"a", "x"});
  const Model model = from_onnx_bytes(file.model().SerializeAsString(), "sum");
  std::string message;
  try {
    find_old_head(model);
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, ::testing::HasSubstr("come from Add"));
}

TEST(InputScaling, InTheFileDoesWhatTheUsersDid) {
  for (const bool reversed : {false, true})
    for (const std::int64_t opset : {9, 13}) {
      const Model model = read(styles()[0], opset);
      const InputScaling scaling{{10, 20, 30}, {2, 4, 5}, reversed};
      const Model scaled = with_scaling(model, scaling);
      const std::vector<float> raw = random_numbers(4 * 108, 12, 0, 255);
      std::vector<float> by_hand(raw.size());
      for (std::size_t i = 0; i < raw.size(); ++i) {
        const std::size_t sample = i / 108, channel = i % 108 / 36, pixel = i % 36;
        const std::size_t to = reversed ? 2 - channel : channel;
        by_hand[sample * 108 + to * 36 + pixel] =
            (raw[i] - scaling.mean[channel]) / scaling.deviation[channel];
      }
      const std::vector<float> a = scores_of(scaled.graph, raw), b = scores_of(model.graph, by_hand);
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-3 * (1 + std::abs(b[i])));
    }
}

TEST(InputScaling, TakenOutLeavesTheFileAsItWas) {
  const Model model = read(styles()[0]);
  const Model scaled = with_scaling(model, {{127.5f}, {127.5f}, true});
  EXPECT_NE(to_onnx_bytes(scaled), to_onnx_bytes(model));
  EXPECT_EQ(to_onnx_bytes(without_scaling(scaled)), to_onnx_bytes(model));
  EXPECT_EQ(to_onnx_bytes(without_scaling(model)), to_onnx_bytes(model));
}

TEST(InputScaling, OfChannelsThatComeLast) {
  File file({0, 6, 6, 3}, 13, {0, 2});
  file.floats("w", {2, 108}, random_numbers(216, 3));
  file.node("Flatten", {"x"}, "f");
  File::set(file.node("Gemm", {"f", "w"}), "transB", 1);
  const Model model = from_onnx_bytes(file.model().SerializeAsString(), "last");
  const InputScaling scaling{{10, 20, 30}, {2, 4, 5}, true};
  const Model scaled = with_scaling(model, scaling);
  const std::vector<float> raw = random_numbers(2 * 108, 12, 0, 255);
  std::vector<float> by_hand(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i)
    by_hand[i - i % 3 + (2 - i % 3)] = (raw[i] - scaling.mean[i % 3]) / scaling.deviation[i % 3];
  const std::vector<float> a = scores_of(scaled.graph, raw), b = scores_of(model.graph, by_hand);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-3 * (1 + std::abs(b[i])));
}

}  // namespace
}  // namespace lwsvm
