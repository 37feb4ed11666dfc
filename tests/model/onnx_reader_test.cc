// Files of others become the network that they are.
#include "model/onnx_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "model/arch.h"
#include "model/graphs.h"
#include "model/onnx_read.h"
#include "model/onnx_writer.h"
#include "net/program.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(OnnxReader, MatMulAndAddAreOneDenseLayer) {
  File file;
  file.floats("w", {4, 2});  // [in][out]
  file.floats("b", {2});
  file.node("MatMul", {"x", "w"}, "xw");
  file.node("Add", {"b", "xw"});
  const Model model = file.read();
  EXPECT_THAT(kinds(model.graph), ElementsAre("Input", "Dense"));
  EXPECT_THAT(values_of(model.graph, "MatMul_1", 0), ElementsAre(1, 3, 5, 7, 2, 4, 6, 8));
  EXPECT_THAT(values_of(model.graph, "MatMul_1", 1), ElementsAre(1, 2));
}

TEST(OnnxReader, GemmWithAllItsAttributes) {
  File file;
  file.floats("w", {4, 2});
  file.floats("b", {1});
  onnx::NodeProto& gemm = file.node("Gemm", {"x", "w", "b"});
  for (const auto& [name, value] : {std::pair{"alpha", 2.0f}, std::pair{"beta", 3.0f}}) {
    onnx::AttributeProto& attribute = *gemm.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  const Model model = file.read();
  EXPECT_THAT(values_of(model.graph, "Gemm_1", 0), ElementsAre(2, 6, 10, 14, 4, 8, 12, 16));
  EXPECT_THAT(values_of(model.graph, "Gemm_1", 1), ElementsAre(3, 3));
}

TEST(OnnxReader, ReshapeWithABatchOfOneIdentityConstantAndSoftmax) {
  File file({1, 1, 2, 2});
  onnx::NodeProto& constant = file.node("Constant", {}, "shape");
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::INT64);
  value.mutable_t()->add_dims(2);
  value.mutable_t()->add_int64_data(1);
  value.mutable_t()->add_int64_data(4);
  file.floats("w", {2, 4});
  file.node("Identity", {"x"}, "same");
  file.node("Reshape", {"same", "shape"}, "flat");
  File::set(file.node("Gemm", {"flat", "w"}, "scores"), "transB", 1);
  file.node("Softmax", {"scores"});
  const Model model = file.read();
  EXPECT_THAT(kinds(model.graph), ElementsAre("Input", "Reshape", "Dense", "Softmax"));
  EXPECT_EQ(model.graph.node(model.graph.scores()).layer->kind(), LayerKind::dense);
}

TEST(OnnxReader, NodesOutOfOrderAndUnusedOnes) {
  File file;
  file.floats("w", {4, 2});
  file.node("MatMul", {"r", "w"});
  file.node("NoSuchOperator", {"x"}, "unused");
  file.node("Relu", {"x"}, "r");
  EXPECT_THAT(kinds(file.read().graph), ElementsAre("Input", "Relu", "Dense"));
}

TEST(OnnxReader, ConstantsAreBroadcastAsNumpyDoes) {
  File file({0, 2, 1, 3});
  file.floats("c", {3});  // along the last axis
  file.node("Add", {"x", "c"});
  const Model model = file.read();
  const auto& layer = dynamic_cast<const AffineLayer&>(*model.graph.node(1).layer);
  EXPECT_THAT(layer.offset(), ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST(OnnxReader, SubThenDivIsFusedOnlyWhereNobodyElseReads) {
  File file;
  file.floats("m", {1});
  file.floats("d", {4});
  file.node("Sub", {"x", "m"}, "s");
  file.node("Div", {"s", "d"}, "n");
  file.node("Add", {"s", "n"});
  EXPECT_THAT(kinds(file.read().graph), ElementsAre("Input", "Affine", "Normalize", "Add"));
}

TEST(OnnxReader, AutoPadIsThatOfTheInput) {
  File file({0, 1, 5, 6});
  file.floats("w", {1, 1, 4, 4});
  onnx::NodeProto& conv = file.node("Conv", {"x", "w"});
  File::set(conv, "strides", std::vector<std::int64_t>{2, 2});
  onnx::AttributeProto& attribute = *conv.add_attribute();
  attribute.set_name("auto_pad");
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s("SAME_UPPER");
  const Model model = file.read();
  EXPECT_EQ(model.graph.node(1).shape, (Shape{1, 3, 3}));
  const auto& window = dynamic_cast<const ConvolutionLayer&>(*model.graph.node(1).layer).spec().window;
  EXPECT_EQ(window.pad_top, 1);
  EXPECT_EQ(window.pad_bottom, 2);
  EXPECT_EQ(window.pad_left, 1);
  EXPECT_EQ(window.pad_right, 1);
}

// A network with a label and probabilities, as skl2onnx writes it; with `maps` as a list of maps.
File scikit_learn(bool maps) {
  File file({0, 4}, 13);
  file.floats("w", {4, 3});
  file.node("MatMul", {"x", "w"}, "scores");
  file.node("Softmax", {"scores"}, maps ? "numbers" : "probabilities");
  File::set(file.node("ArgMax", {maps ? "numbers" : "probabilities"}, "label"), "axis", 1);
  if (maps) file.node("ZipMap", {"numbers"}, "probabilities").set_domain("ai.onnx.ml");
  file.graph().clear_output();
  onnx::ValueInfoProto& label = *file.graph().add_output();
  label.set_name("label");
  label.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  onnx::ValueInfoProto& probabilities = *file.graph().add_output();
  probabilities.set_name("probabilities");
  if (maps)
    probabilities.mutable_type()->mutable_sequence_type();
  else
    probabilities.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  return file;
}

TEST(OnnxReader, OfLabelAndProbabilitiesTheLatterAreTheScores) {
  for (bool maps : {false, true}) {
    const Model model = scikit_learn(maps).read();
    EXPECT_THAT(kinds(model.graph), ElementsAre("Input", "Dense", "Softmax"));
    ASSERT_EQ(model.info.notes.size(), 1u);
    EXPECT_THAT(model.info.notes[0], HasSubstr("'probabilities' is taken"));
    EXPECT_EQ(model.info.metadata.count(kOutputKey), 0u);
  }
}

TEST(OnnxReader, AnOutputCanBeChosenAndIsRemembered) {
  File file({0, 4}, 13);
  file.floats("w", {4, 3});
  file.node("MatMul", {"x", "w"}, "first");
  file.node("Relu", {"first"}, "second");
  file.graph().clear_output();
  for (const char* name : {"first", "second"}) {
    onnx::ValueInfoProto& output = *file.graph().add_output();
    output.set_name(name);
    output.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  EXPECT_THAT(file.error(), HasSubstr("2 outputs, 'first', 'second'; say which"));
  const std::string bytes = file.model().SerializeAsString();
  const Model model = from_onnx_bytes(bytes, "test.onnx", "first");
  EXPECT_THAT(kinds(model.graph), ElementsAre("Input", "Dense"));
  const Model again = from_onnx_bytes(to_onnx_bytes(model), "again.onnx");
  EXPECT_THAT(kinds(again.graph), ElementsAre("Input", "Dense"));
  EXPECT_THAT(kinds(from_onnx_bytes(to_onnx_bytes(model), "again.onnx", "second").graph),
              ElementsAre("Input", "Dense", "Relu"));
  try {
    from_onnx_bytes(bytes, "test.onnx", "third");
    FAIL() << "there is no third";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("there is no output 'third' (--output-name); there is 'first', 'second'"));
  }
}

// What a refined layer may have in front of it.
TEST(OnnxReader, AGateIsBroadcast) {  // squeeze and excitation
  File file({0, 2, 3, 3});
  file.node("GlobalAveragePool", {"x"}, "mean");
  file.node("Sigmoid", {"mean"}, "gate");
  file.node("Mul", {"gate", "x"});
  EXPECT_EQ(file.read().graph.node(file.read().graph.output()).shape, (Shape{2, 3, 3}));
  File wrong({0, 2, 3, 3});
  wrong.node("ReduceMean", {"x"}, "mean");
  wrong.node("Mul", {"mean", "x"});
  EXPECT_THAT(wrong.error(), HasSubstr("mix the samples"));
}

// As its definition in parts, or its approximation in parts: what exporters write up to opset 19.
TEST(OnnxReader, GeluIsWhatItsPartsAre) {
  const auto scores = [](File& file) {
    const Model model = file.read();
    ProgramOptions options;
    options.target = model.graph.output();
    Program program(model.graph, options);
    program.load(model.graph);
    Workspace workspace = program.make_workspace();
    const std::vector<float> x{-30.0f, -2.5f, -0.4f, 0.0f, 0.7f, 3.0f, 25.0f};
    std::copy(x.begin(), x.end(), program.input(workspace, 0));
    program.forward(workspace, PatternUse::ignore);
    return std::vector<float>(program.output(workspace), program.output(workspace) + x.size());
  };
  for (const bool exact : {true, false}) {
    File whole({0, 7}), parts({0, 7});
    onnx::NodeProto& gelu = whole.node("Gelu", {"x"});
    if (!exact) File::set(gelu, "approximate", "tanh");
    parts.floats("one", {}, {1.0f});
    parts.floats("half", {}, {0.5f});
    parts.floats("factor", {}, {exact ? 0.70710678f : 0.79788456f});
    if (exact) {
      parts.node("Mul", {"x", "factor"}, "inner");
      parts.node("Erf", {"inner"}, "outer");
    } else {
      parts.floats("cubic", {}, {0.044715f});
      parts.floats("three", {}, {3.0f});
      parts.node("Pow", {"x", "three"}, "cube");
      parts.node("Mul", {"cube", "cubic"}, "small");
      parts.node("Add", {"x", "small"}, "sum");
      parts.node("Mul", {"sum", "factor"}, "inner");
      parts.node("Tanh", {"inner"}, "outer");
    }
    parts.node("Add", {"outer", "one"}, "above");
    parts.node("Mul", {"x", "above"}, "twice");
    parts.node("Mul", {"twice", "half"});
    const std::vector<float> found = scores(whole), wanted = scores(parts);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 2e-6f) << exact << i;
  }
  File other({0, 7});
  File::set(other.node("Gelu", {"x"}), "approximate", "cubic");
  EXPECT_THAT(other.error(), HasSubstr("approximate none or tanh, not 'cubic'"));
}

TEST(OnnxReader, WeightsOfRowsAndTransposedConvolutionsAreFoundAgain) {
  for (const char* op : {"Conv", "ConvTranspose"}) {
    File file({0, 2, 5});
    file.floats("w", {2, 2, 3});
    onnx::NodeProto& node = file.node(op, {"x", "w"});
    if (std::string_view(op) == "ConvTranspose") File::set(node, "strides", std::vector<std::int64_t>{2});
    Model model = file.read();
    const Parameter& weights = model.graph.node(*model.graph.find(std::string(op) + "_1")).parameters[0];
    const float before = model.graph.parameters()[static_cast<std::size_t>(weights.range.begin)];
    model.graph.parameters()[static_cast<std::size_t>(weights.range.begin)] = 77;
    onnx::ModelProto written;
    ASSERT_TRUE(written.ParseFromString(to_onnx_bytes(model)));
    int changed = 0;
    for (int k = 0; k < 12; ++k) {
      float value = 0;
      const onnx::TensorProto& tensor = written.graph().initializer(0);
      if (tensor.float_data_size() > 0)
        value = tensor.float_data(k);
      else
        std::memcpy(&value, tensor.raw_data().data() + 4 * k, 4);
      if (value == static_cast<float>(k + 1)) continue;
      ++changed;
      EXPECT_EQ(value, 77);
      EXPECT_EQ(before, static_cast<float>(k + 1)) << op;
    }
    EXPECT_EQ(changed, 1) << op;
  }
}

}  // namespace
}  // namespace lwsvm
