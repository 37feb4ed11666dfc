// Architecture strings: shapes and parameter counts derived by hand, names, errors that point.
#include "model/arch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "lwsvm/train.h"
#include "model/initialize.h"
#include "model/summary.h"
#include "net/layers/convolution_layer.h"

namespace lwsvm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Graph build(const std::string& arch, const Shape& input = {1, 28, 28}, int classes = 10,
            std::uint64_t seed = 0) {
  return build_network(arch, input, classes, {}, {}, seed);
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> all;
  for (const Node& node : graph.nodes()) all.push_back(node.name);
  return all;
}

std::int64_t parameters(const Graph& graph) {
  return static_cast<std::int64_t>(graph.parameters().size());
}

std::string arch_error(const std::string& arch, const Shape& input = {1, 28, 28}) {
  try {
    build(arch, input);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Arch, MnistHasThePapersShapes) {
  const Graph graph = build("mnist");
  EXPECT_THAT(names(graph), ElementsAre("input", "normalize", "conv1", "relu1", "pool1", "conv2", "relu2",
                                        "pool2", "flatten1", "dense1", "relu3", "svm"));
  EXPECT_EQ(parameters(graph), 12 * 25 + 12 + 12 * 12 * 25 + 12 + 588 * 256 + 256 + 256 * 10 + 10);
  EXPECT_EQ(graph.node(*graph.find("conv1")).shape, (Shape{12, 28, 28}));
  EXPECT_EQ(graph.node(*graph.find("pool2")).shape, (Shape{12, 7, 7}));
  EXPECT_EQ(graph.node(graph.output()).name, "svm");
  EXPECT_EQ(graph.node(graph.output()).shape, (Shape{10}));
  EXPECT_EQ(graph.scores(), graph.output());
}

TEST(Arch, CifarHasThePapersShapes) {
  std::int64_t expected = 0, statistics = 0, in = 3;
  for (std::int64_t out : {64, 64, 128, 128, 256, 256}) {
    expected += out * in * 9 + 2 * out;  // no bias; scale and shift
    statistics += 2 * out;
    in = out;
  }
  expected += 256 * 4 * 4 * 10 + 10;
  const Graph graph = build("cifar", {3, 32, 32});
  EXPECT_EQ(parameters(graph), expected);
  EXPECT_EQ(static_cast<std::int64_t>(graph.statistics().size()), statistics);
  EXPECT_EQ(graph.node(*graph.find("pool3")).shape, (Shape{256, 4, 4}));
  EXPECT_EQ(graph.node(*graph.find("svm")).parameters[0].shape, (Shape{10, 4096}));
}

TEST(Arch, WidthsAreDividedAndNeverVanish) {
  const Graph quarter = build("cifar/4", {3, 32, 32});
  EXPECT_EQ(quarter.node(*quarter.find("conv1")).shape[0], 16);
  EXPECT_EQ(quarter.node(*quarter.find("conv6")).shape, (Shape{64, 8, 8}));
  const Graph thin = build("cifar/1000", {3, 32, 32});
  EXPECT_EQ(thin.node(*thin.find("conv6")).shape[0], 1);
  const Graph mnist = build("mnist/2");
  EXPECT_EQ(mnist.node(*mnist.find("dense1")).shape, (Shape{128}));
}

TEST(Arch, PlainCifarIsCifarWithoutBatchNorm) {
  std::vector<std::string> expected = names(build("cifar", {3, 32, 32}));
  std::erase_if(expected, [](const std::string& name) { return name.starts_with("bn"); });
  EXPECT_EQ(names(build("cifar-plain", {3, 32, 32})), expected);
}

TEST(Arch, NobiasTakesEveryBiasAndNothingElse) {
  for (const std::string arch : {"mnist", "cifar-plain/8", "conv4x3-relu-res(conv8x3-relu)-dense5-relu"}) {
    const Graph with = build(arch), without = build("nobias:" + arch);
    EXPECT_EQ(names(without), names(with));
    std::int64_t biases = 0;
    for (const Node& node : with.nodes())
      if (node.has_weights()) biases += node.shape[0];
    EXPECT_EQ(parameters(without), parameters(with) - biases) << arch;
  }
  EXPECT_THAT(arch_error("nobias:"), HasSubstr("empty"));
  EXPECT_THAT(arch_error("nobais:mnist"), HasSubstr("[arch]"));
}

TEST(Arch, Resnet20IsThatOfTheAuthors) {
  // [HZRS16]: 0.27M. Convolutions without bias, two parameters per channel of batch normalisation, the
  // classifier.
  std::int64_t expected = 3 * 16 * 9 + 2 * 16;
  std::int64_t in = 16;
  for (std::int64_t width : {16, 32, 64})
    for (int block = 0; block < 3; ++block) {
      expected += in * width * 9 + 2 * width + width * width * 9 + 2 * width;
      in = width;
    }
  expected += 64 * 10 + 10;
  const Graph graph = build("resnet20", {3, 32, 32});
  EXPECT_EQ(parameters(graph), expected);
  EXPECT_EQ(parameters(graph), 269722);
  int convolutions = 0, additions = 0;
  for (const Node& node : graph.nodes()) {
    if (node.is_input()) continue;
    convolutions += node.layer->kind() == LayerKind::conv;
    additions += node.layer->kind() == LayerKind::add;
  }
  EXPECT_EQ(convolutions, 19);
  EXPECT_EQ(additions, 9);
  EXPECT_EQ(graph.node(*graph.find("gap1")).shape, (Shape{64, 1, 1}));
  EXPECT_EQ(graph.node(*graph.find("conv19")).shape, (Shape{64, 8, 8}));
}

TEST(Arch, Vgg16HasTheShapesOfItsPaper) {
  const Graph graph = build("vgg16/16", {3, 224, 224});
  std::vector<std::string> layers;
  for (const Node& node : graph.nodes())
    if (node.has_weights()) layers.push_back(node.name);
  ASSERT_EQ(layers.size(), 16u);
  const Node& dense = graph.node(*graph.find("dense1"));
  EXPECT_EQ(dense.parameters[0].shape, (Shape{4096 / 16, 512 / 16 * 7 * 7}));
}

TEST(Arch, BuiltInNamesAreShorthandForTheirText) {
  for (const BuiltInArch& arch : built_in_archs()) {
    const Graph a = build(arch.name, {3, 32, 32}, 10, 7), b = build(arch.text, {3, 32, 32}, 10, 7);
    EXPECT_EQ(names(a), names(b));
    EXPECT_EQ(a.parameters(), b.parameters());
  }
}

TEST(Arch, OptionsOfConvolutionsArriveAtTheLayer) {
  const Graph graph = build("conv8x3x5s2p1d2g2", {4, 20, 30});
  const auto& layer = dynamic_cast<const ConvolutionLayer&>(*graph.node(*graph.find("conv1")).layer);
  EXPECT_EQ(layer.spec().out_channels, 8);
  EXPECT_EQ(layer.spec().groups, 2);
  EXPECT_EQ(layer.spec().window.height, 3);
  EXPECT_EQ(layer.spec().window.width, 5);
  EXPECT_EQ(layer.spec().window.stride_height, 2);
  EXPECT_EQ(layer.spec().window.dilation_width, 2);
  EXPECT_EQ(layer.spec().window.pad_left, 1);
  EXPECT_TRUE(layer.spec().bias);
}

TEST(Arch, SamePaddingKeepsTheSizeForEveryWindow) {
  for (int k = 1; k <= 6; ++k)
    for (int stride = 1; stride <= 3; ++stride)
      for (int dilation = 1; dilation <= 2; ++dilation) {
        const Graph graph = build(fmt::format("conv2x{}s{}d{}", k, stride, dilation), {1, 17, 12});
        EXPECT_EQ(graph.node(*graph.find("conv1")).shape,
                  (Shape{2, (17 + stride - 1) / stride, (12 + stride - 1) / stride}));
      }
}

TEST(Arch, EveryTokenBuilds) {
  const Graph graph = build(
      "conv6x3-bn-prelu-conv6x3-maxout3-leaky0.1-abs-relu6-avgpool3s1p1-pool2-dropout0.25-"
      "res(conv8x3s2-relu-conv8x3)-respad(conv12x3-bn)-inception(conv2x1|conv3x3-relu|pool3s1p1|id)-gmp-"
      "dense9-maxout2-bn-relu",
      {2, 16, 16});
  EXPECT_EQ(graph.node(*graph.find("conv2")).shape, (Shape{18, 16, 16}));
  EXPECT_EQ(graph.node(*graph.find("max1")).shape, (Shape{6, 16, 16}));
  EXPECT_EQ(graph.node(*graph.find("project1")).shape, (Shape{8, 4, 4}));
  EXPECT_EQ(graph.node(*graph.find("concat1")).shape, (Shape{2 + 3 + 12 + 12, 4, 4}));
  EXPECT_EQ(graph.node(*graph.find("dense1")).shape, (Shape{18}));
  EXPECT_EQ(graph.node(*graph.find("max2")).shape, (Shape{9}));
  EXPECT_EQ(graph.node(*graph.find("conv1")).parameters.size(), 1u);  // batch norm follows: no bias
  EXPECT_EQ(graph.node(*graph.find("conv2")).parameters.size(), 2u);
}

TEST(Arch, ErrorsPointAtTheToken) {
  EXPECT_EQ(arch_error("conv12x5-reul-pool2"),
            "[arch] conv12x5-reul-pool2: unknown token 'reul', did you mean 'relu'?\n"
            "                ^~~~");
  EXPECT_EQ(arch_error("mnits"), "[arch] mnits: unknown token 'mnits', did you mean 'mnist'?\n       ^~~~~");
  EXPECT_THAT(arch_error("relu-cnov12x5"),
              HasSubstr("unknown token 'cnov12x5', did you mean 'conv'?\n            ^~~~~~~~"));
}

TEST(Arch, EveryErrorHasItsPlace) {
  const std::pair<const char*, std::size_t> cases[] = {// string, offset of the mark
                                                       {"conv12-relu", 0},
                                                       {"relu-convx3", 5},
                                                       {"relu-conv0x3", 5},
                                                       {"relu-conv3x0", 5},
                                                       {"relu--relu", 5},
                                                       {"-relu", 0},
                                                       {"relu-", 5},
                                                       {"relu-relu7", 5},
                                                       {"relu-pool", 5},
                                                       {"relu-pool2d2", 5},
                                                       {"relu-dense", 5},
                                                       {"relu-dense-5", 5},
                                                       {"relu-maxout2", 5},
                                                       {"conv4x3-maxout1", 8},
                                                       {"relu-dropout1", 5},
                                                       {"relu-dropout", 5},
                                                       {"relu-leaky", 5},
                                                       {"relu-leakyx", 5},
                                                       {"res(relu", 3},
                                                       {"res", 0},
                                                       {"relu)", 4},
                                                       {"res(relu|relu)", 8},
                                                       {"inception(relu|)", 15},
                                                       {"res(relu)relu", 9},
                                                       {"dense5-conv3x3", 7},
                                                       {"relu-pool99", 5},
                                                       {"relu-conv99999999999x3", 5},
                                                       {"relu relu", 4},
                                                       {"conv3x3g2", 0},
                                                       {"relu-dense1000000", 5},
                                                       {"cifar/0", 5},
                                                       {"cifar/x", 5},
                                                       {"cifra/4", 0},
                                                       {"relu(relu)", 4},
                                                       {"respad(conv4x3)-respad(conv2x3)", 16},
                                                       {"res(dense5)", 0},
                                                       {"inception(pool2|relu)", 0}};
  for (const auto& [arch, offset] : cases) {
    const std::string error = arch_error(arch, {1, 28, 28});
    const std::size_t line = error.rfind('\n');
    ASSERT_NE(line, std::string::npos) << arch << ": " << error;
    EXPECT_EQ(error.find('^'), line + 1 + 7 + offset) << arch << "\n" << error;
    EXPECT_TRUE(error.starts_with(fmt::format("[arch] {}: ", arch))) << error;
  }
}

TEST(Arch, RefusesWhatWouldNotFitIntoMemory) {
  EXPECT_THAT(arch_error("dense100000-dense100000"), HasSubstr("parameters"));
  EXPECT_THAT(arch_error("conv1000000x1"), HasSubstr("too large"));
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "res(";
  EXPECT_THAT(arch_error(deep), HasSubstr("nested"));
  EXPECT_THROW(build(""), Error);
  EXPECT_THROW(build_network("mnist", {1, 28, 28}, 1, {}, {}, 0), Error);
  EXPECT_THROW(build_network("mnist", {1, 0, 28}, 10, {}, {}, 0), Error);
  EXPECT_THROW(build_network("mnist", {1, 28, 28}, 10, {1.0f, 2.0f}, {}, 0), Error);
}

TEST(Arch, TheGrammarNamesEveryWord) {
  const std::string grammar = arch_grammar();
  for (const char* word : {"conv", "bn",      "relu",    "relu6",      "leaky", "prelu",  "abs",
                           "pool", "avgpool", "gap",     "gmp",        "dense", "maxout", "dropout",
                           "id",   "res(",    "respad(", "inception(", "mnist", "cifar",  "resnet20"})
    EXPECT_THAT(grammar, HasSubstr(word));
}

TEST(Initialize, IsGlorotUniformAndSeeded) {
  const Graph a = build("conv64x5g2-bn-prelu-dense200", {4, 9, 9}, 10, 3),
              b = build("conv64x5g2-bn-prelu-dense200", {4, 9, 9}, 10, 3);
  EXPECT_EQ(a.parameters(), b.parameters());
  EXPECT_NE(a.parameters(), build("conv64x5g2-bn-prelu-dense200", {4, 9, 9}, 10, 4).parameters());
  const auto check = [&](const char* name, double limit) {
    const Parameter& weight = a.node(*a.find(name)).parameters[0];
    double largest = 0, sum = 0, squares = 0;
    for (std::int64_t i = weight.range.begin; i < weight.range.end(); ++i) {
      const double value = a.parameters()[static_cast<std::size_t>(i)];
      largest = std::max(largest, std::abs(value));
      sum += value;
      squares += value * value;
    }
    const auto n = static_cast<double>(weight.range.size);
    EXPECT_LE(largest, limit * 1.000001) << name;
    EXPECT_GT(largest, limit * 0.99) << name;
    EXPECT_NEAR(sum / n, 0, 5 * limit / std::sqrt(3 * n)) << name;
    EXPECT_NEAR(squares / n, limit * limit / 3, 0.1 * limit * limit) << name;
  };
  check("conv1", std::sqrt(6.0 / (2 * 25 + 32 * 25)));
  check("dense1", std::sqrt(6.0 / (64 * 81 + 200)));
  const Node& norm = a.node(*a.find("bn1"));
  EXPECT_EQ(a.parameters()[static_cast<std::size_t>(norm.parameters[0].range.begin)], 1.0f);
  EXPECT_EQ(a.parameters()[static_cast<std::size_t>(norm.parameters[1].range.begin)], 0.0f);
  EXPECT_EQ(a.statistics(), [] {
    std::vector<float> expected(64, 0.0f);
    expected.resize(128, 1.0f);
    return expected;
  }());
  EXPECT_EQ(a.parameters()[static_cast<std::size_t>(a.node(*a.find("prelu1")).trained.begin)], 0.25f);
  EXPECT_EQ(a.parameters().back(), 0.0f);  // a bias
}

TEST(Summary, CountsMnist) {
  const Graph graph = build("mnist");
  const GraphSummary summary = describe(graph);
  ASSERT_EQ(summary.nodes.size(), graph.nodes().size());
  EXPECT_EQ(summary.parameters, parameters(graph));
  EXPECT_EQ(summary.flops, graph.flops());
  const NodeSummary& conv = summary.nodes[2];
  EXPECT_EQ(conv.name, "conv1");
  EXPECT_EQ(conv.kind, "Conv");
  EXPECT_EQ(conv.details, "5x5 pad 2");
  EXPECT_EQ(conv.parameters, 312);
  EXPECT_EQ(conv.flops, 2 * 12 * 28 * 28 * 25);
  EXPECT_EQ(conv.linearity, Linearity::linear);
  EXPECT_EQ(conv.inputs, std::vector<std::string>{"normalize"});
  EXPECT_EQ(summary.nodes[0].kind, "Input");
  EXPECT_EQ(summary.nodes[3].linearity, Linearity::piecewise_linear);
}

}  // namespace
}  // namespace lwsvm
