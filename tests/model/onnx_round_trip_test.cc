// What is written reads back as the same network, bit for bit.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "base/error.h"
#include "model/arch.h"
#include "model/graphs.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

// Every attribute of a layer, as text. Independent of the writer's own list of attributes.
std::string attributes(const Layer& layer) {
  const auto window = [](const WindowSpec& w) {
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {}", w.height, w.width, w.stride_height, w.stride_width,
                       w.dilation_height, w.dilation_width, w.pad_top, w.pad_left, w.pad_bottom, w.pad_right,
                       w.ceil_mode);
  };
  const auto list = [](const auto& values) { return fmt::format("{}", fmt::join(values, " ")); };
  if (auto* l = dynamic_cast<const ConvolutionLayer*>(&layer))
    return fmt::format("{} {} {} {} | {}", l->spec().in_channels, l->spec().out_channels, l->spec().groups,
                       l->spec().bias, window(l->spec().window));
  if (auto* l = dynamic_cast<const DenseLayer*>(&layer))
    return fmt::format("{} {} {}", l->in_features(), l->out_features(), l->has_bias());
  if (auto* l = dynamic_cast<const BatchNormLayer*>(&layer))
    return fmt::format("{} {} {}", l->channels(), l->epsilon(), l->momentum());
  if (auto* l = dynamic_cast<const LeakyReluLayer*>(&layer)) return fmt::format("{}", l->slope());
  if (auto* l = dynamic_cast<const ClipLayer*>(&layer)) return fmt::format("{} {}", l->low(), l->high());
  if (auto* l = dynamic_cast<const PReluLayer*>(&layer)) return fmt::format("{}", l->slopes());
  if (auto* l = dynamic_cast<const ConcatLayer*>(&layer)) return fmt::format("{}", l->axis());
  if (auto* l = dynamic_cast<const AffineLayer*>(&layer)) return list(l->scale()) + "|" + list(l->offset());
  if (auto* l = dynamic_cast<const NormalizeLayer*>(&layer))
    return list(l->mean()) + "|" + list(l->deviation());
  if (auto* l = dynamic_cast<const MaxPoolLayer*>(&layer)) return window(l->window());
  if (auto* l = dynamic_cast<const AveragePoolLayer*>(&layer))
    return window(l->window()) + fmt::format(" {}", l->count_padding());
  if (auto* l = dynamic_cast<const ReshapeLayer*>(&layer)) return list(l->target());
  if (auto* l = dynamic_cast<const TransposeLayer*>(&layer)) return list(l->order());
  if (auto* l = dynamic_cast<const PadLayer*>(&layer))
    return list(l->before()) + "|" + list(l->after()) + fmt::format("|{}", l->value());
  if (auto* l = dynamic_cast<const SliceLayer*>(&layer))
    return list(l->start()) + "|" + list(l->step()) + "|" + list(l->count());
  if (auto* l = dynamic_cast<const DropoutLayer*>(&layer)) return fmt::format("{}", l->rate());
  return "";
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void expect_same(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (std::size_t i = 0; i < a.nodes().size(); ++i) {
    const Node &x = a.nodes()[i], &y = b.nodes()[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.inputs, y.inputs) << x.name;
    EXPECT_EQ(x.shape, y.shape) << x.name;
    ASSERT_EQ(x.is_input(), y.is_input()) << x.name;
    if (x.is_input()) continue;
    EXPECT_EQ(x.layer->kind(), y.layer->kind()) << x.name;
    EXPECT_EQ(attributes(*x.layer), attributes(*y.layer)) << x.name;
  }
  EXPECT_EQ(a.output(), b.output());
  EXPECT_TRUE(same_bits(a.parameters(), b.parameters()));
  EXPECT_TRUE(same_bits(a.statistics(), b.statistics()));
}

void expect_round_trip(const Model& model) {
  const std::string bytes = to_onnx_bytes(model);
  Model read = from_onnx_bytes(bytes, "test.onnx");
  expect_same(model.graph, read.graph);
  EXPECT_EQ(bytes, to_onnx_bytes(read));
  read.source = nullptr;  // written from the graph alone
  EXPECT_EQ(bytes, to_onnx_bytes(read));
}

TEST(OnnxRoundTrip, KeepsEveryLayerKind) {
  for (const KindCase& test : every_kind()) {
    SCOPED_TRACE(test.name);
    Model model;
    model.graph = graph_of(test);
    expect_round_trip(model);
  }
}

TEST(OnnxRoundTrip, KeepsRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Model model;
    model.graph = random_graph(seed);
    expect_round_trip(model);
  }
}

TEST(OnnxRoundTrip, KeepsBuiltInNetworks) {
  for (const auto& [arch, input] : std::vector<std::pair<std::string, Shape>>{
           {"mnist", {1, 28, 28}}, {"cifar/4", {3, 32, 32}}, {"resnet20", {3, 32, 32}}}) {
    SCOPED_TRACE(arch);
    Model model;
    model.graph = build_network(arch, input, 10, {127.0f}, {256.0f}, 1);
    expect_round_trip(model);
  }
}

TEST(OnnxRoundTrip, KeepsBitsOfStrangeNumbers) {
  Model model;
  model.graph = build_network("dense4-relu", {3}, 2, {}, {}, 1);
  auto& values = model.graph.parameters();
  const std::uint32_t bits[] = {0x7fc00001, 0x7f800001, 0xff800000, 0x80000000,
                                0x00000001};  // NaNs, -inf, -0, denormal
  std::memcpy(values.data(), bits, sizeof bits);
  expect_round_trip(model);
}

TEST(OnnxRoundTrip, KeepsWhatIsKnownOfAModel) {
  Model model;
  model.graph = build_network("dense4-relu", {3}, 2, {}, {}, 1);
  model.info.name = "a net";
  model.info.arch = "dense4-relu";
  model.info.lambda = 0.1 + 0.2;  // 0.30000000000000004
  model.info.data = "fashion-mnist";
  model.info.classes = 2;
  model.info.class_names = {"T-shirt/top", "na\xc3\xafve \"quoted\""};
  model.info.input = "raw pixels 0..255";
  model.info.metadata = {{"author", "somebody"}, {"lwsvm.later", "of a later version"}};
  const std::string bytes = to_onnx_bytes(model);
  const Model read = from_onnx_bytes(bytes, "test.onnx");
  EXPECT_EQ(read.info.name, model.info.name);
  EXPECT_EQ(read.info.arch, model.info.arch);
  ASSERT_TRUE(read.info.lambda.has_value());
  EXPECT_EQ(*read.info.lambda, 0.1 + 0.2);
  EXPECT_EQ(read.info.data, model.info.data);
  EXPECT_EQ(read.info.classes, 2);
  EXPECT_EQ(read.info.class_names, model.info.class_names);
  EXPECT_EQ(read.info.input, model.info.input);
  EXPECT_EQ(read.info.metadata, model.info.metadata);
  EXPECT_TRUE(read.info.producer.starts_with("lwsvm ")) << read.info.producer;
  EXPECT_EQ(to_onnx_bytes(read), bytes);
}

TEST(OnnxRoundTrip, LambdaIsAbsentWhereNoneIsKnown) {
  Model model;
  model.graph = build_network("dense4-relu", {3}, 2, {}, {}, 1);
  EXPECT_FALSE(from_onnx_bytes(to_onnx_bytes(model), "test.onnx").info.lambda.has_value());
}

TEST(OnnxRoundTrip, EqualNamesBecomeDifferent) {
  Model model;
  Graph& graph = model.graph;
  int at = graph.add_input("x", {4});
  for (int i = 0; i < 3; ++i) at = graph.add("x", std::make_shared<ReluLayer>(), {at});
  at = graph.add("x.weight", std::make_shared<DenseLayer>(4, 3), {at});
  at = graph.add("", std::make_shared<DenseLayer>(3, 3), {at});
  at = graph.add("x", std::make_shared<DenseLayer>(3, 2), {at});
  const std::string bytes = to_onnx_bytes(model);
  const Model read = from_onnx_bytes(bytes, "test.onnx");
  std::set<std::string> names;
  for (const Node& node : read.graph.nodes()) names.insert(node.name);
  EXPECT_EQ(names.size(), read.graph.nodes().size());
  EXPECT_EQ(to_onnx_bytes(read), bytes);
}

TEST(OnnxRoundTrip, FilesAreWholeOrAbsent) {
  TemporaryFolder folder;
  Model model;
  model.graph = build_network("dense4-relu", {3}, 2, {}, {}, 1);
  write_onnx(model, folder / "a.onnx");
  expect_same(read_onnx(folder / "a.onnx").graph, model.graph);
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_THROW(write_onnx(model, folder / "no" / "such" / "a.onnx"), Error);
}

TEST(OnnxWriter, RefusesWhatOnnxCannotSay) {
  Model model;
  const int x = model.graph.add_input("x", {1, 9, 9});
  EXPECT_THROW(to_onnx_bytes(model), Error);
  const WindowSpec window = make_window({2, 2}, {1, 1}, {2, 2}, {0, 0, 0, 0});
  model.graph.add("pool", std::make_shared<AveragePoolLayer>(window, false), {x});
  EXPECT_THROW(to_onnx_bytes(model), Error);
}

}  // namespace
}  // namespace lwsvm
