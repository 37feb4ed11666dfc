// Files of others, and bad files: each gives a network or one clear Error, never a crash, a hang or a huge
// allocation.
#include "model/onnx_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/random.h"
#include "model/arch.h"
#include "model/foreign_file.h"
#include "model/graphs.h"
#include "model/onnx_writer.h"
#include "net/program.h"
#include "repetitions.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string reader_error(std::string_view bytes) {
  try {
    from_onnx_bytes(bytes, "test.onnx");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> kinds(const Graph& graph) {
  std::vector<std::string> all;
  for (const Node& node : graph.nodes())
    all.emplace_back(node.is_input() ? "Input" : to_string(node.layer->kind()));
  return all;
}

std::vector<float> values_of(const Graph& graph, const std::string& node, std::size_t parameter) {
  const Parameter& found = graph.node(*graph.find(node)).parameters[parameter];
  const auto begin = graph.parameters().begin() + found.range.begin;
  return {begin, begin + found.range.size};
}

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

TEST(OnnxReader, SaysWhatTheFileReallyIs) {
  EXPECT_THAT(reader_error(""), HasSubstr("empty"));
  EXPECT_THAT(reader_error("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
              HasSubstr("Git LFS pointer"));
  EXPECT_THAT(reader_error("\n <!DOCTYPE html><html></html>"), HasSubstr("web page"));
  EXPECT_THAT(reader_error(std::string("PK\x03\x04", 4) + "xxxx"), HasSubstr("zip"));
  EXPECT_THAT(reader_error("just some text"),
              AllOf(HasSubstr("[onnx] test.onnx: "), HasSubstr("not an ONNX")));
  EXPECT_THAT(reader_error(std::string(1000, '\0')), HasSubstr("not an ONNX"));
  TemporaryFolder folder;
  EXPECT_THROW(read_onnx(folder / "absent.onnx"), Error);
  const auto error_at = [](const std::filesystem::path& path) -> std::string {
    try {
      read_onnx(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_at(folder.path()), HasSubstr("this is a folder"));
  EXPECT_THAT(error_at("/dev/zero"), HasSubstr("device"));  // does not read on for ever
  write_file_atomically(folder / "huge.onnx", "x");
  std::filesystem::resize_file(folder / "huge.onnx", std::uint64_t{3} << 30);  // a hole
  EXPECT_THAT(error_at(folder / "huge.onnx"), HasSubstr("more than 2 GB"));
}

TEST(OnnxReader, UnknownOperatorsAreNamed) {
  File smooth;
  smooth.node("Det", {"x"});
  EXPECT_THAT(smooth.error(), HasSubstr("[onnx] test.onnx: node 'Det_1': operator Det is not supported"));
  File near;
  near.node("Relue", {"x"});
  EXPECT_THAT(near.error(), HasSubstr("Relu"));
  File foreign;
  foreign.node("Relu", {"x"}).set_domain("com.example");
  EXPECT_THAT(foreign.error(), HasSubstr("com.example"));
}

TEST(OnnxReader, UnsupportedOperatorsNameTheNearestThatWorks) {
  for (const auto& [op, nearest] :
       {std::pair{"Mish", "HardSwish"}, std::pair{"GroupNormalization", "InstanceNormalization"},
        std::pair{"QLinearConv", "Conv"}, std::pair{"Softmin", "Softmax"}}) {
    File file;
    file.node(op, {"x"});
    EXPECT_THAT(file.error(), AllOf(HasSubstr(std::string("node '") + op + "_1'"), HasSubstr(op),
                                    HasSubstr(std::string("the nearest that is: ") + nearest)));
  }
}

// Up to opset 13 it is the outputs that say so, then an attribute.
TEST(OnnxReader, BatchNormalizationInTrainingModeIsRefused) {
  const auto error = [](std::int64_t opset, int outputs, const char* flag, bool named = true) {
    File file({0, 3, 2, 2}, opset);
    for (const char* name : {"scale", "shift", "mean", "variance"}) file.floats(name, {3});
    onnx::NodeProto& node = file.node("BatchNormalization", {"x", "scale", "shift", "mean", "variance"});
    for (int k = 1; k < outputs; ++k) node.add_output(named ? "out" + std::to_string(k) : "");
    if (flag) File::set(node, flag, 1);
    return file.error();
  };
  for (std::int64_t opset : {1, 6, 7, 9, 13}) {
    EXPECT_THAT(error(opset, 5, nullptr), HasSubstr("training mode")) << opset;
    EXPECT_EQ(error(opset, 1, nullptr), "no error") << opset;
    EXPECT_EQ(error(opset, 5, nullptr, false), "no error") << opset;
  }
  EXPECT_EQ(error(6, 5, "is_test"), "no error");
  EXPECT_THAT(error(15, 3, "training_mode"), HasSubstr("training mode"));
  EXPECT_EQ(error(15, 1, nullptr), "no error");
}

TEST(OnnxReader, WhatWouldMixTheSamplesOfABatchIsRefused) {
  const auto refused = [](const char* op, const std::function<void(File&, onnx::NodeProto&)>& complete,
                          std::int64_t batch = 0) {
    File file({batch, 2, 3});
    complete(file, file.node(op, {"x"}));
    return file.error();
  };
  const auto along = [](std::int64_t axis) {
    return [axis](File&, onnx::NodeProto& node) { File::set(node, "axis", axis); };
  };
  EXPECT_THAT(refused("Softmax", along(0)), HasSubstr("mix the samples"));
  EXPECT_THAT(refused("ArgMax", along(0)), HasSubstr("mix the samples"));
  EXPECT_THAT(refused("Flatten", along(2)), HasSubstr("the batch stays"));
  EXPECT_EQ(refused("Flatten", along(2), 1), "no error");  // one sample cannot be mixed with others
  const auto axes = [](File& file, onnx::NodeProto& node) {
    file.integers("axes", {0});
    node.add_input("axes");
  };
  EXPECT_THAT(refused("Squeeze", axes), HasSubstr("fixed batch of 1"));
  EXPECT_THAT(refused("ReduceSum", axes), HasSubstr("mix the samples"));
  EXPECT_THAT(refused("Transpose", [](File&, onnx::NodeProto&) {}), HasSubstr("not the first axis"));
  const auto target = [](File& file, onnx::NodeProto& node) {
    file.integers("target", {3, 4});
    node.add_input("target");
  };
  EXPECT_THAT(refused("Reshape", target), HasSubstr("mix the samples"));
  EXPECT_THAT(refused("Reshape", target, 1), HasSubstr("mix the samples"));  // 6 numbers, not 12
}

TEST(OnnxReader, ComputingWithTheBatchNeedsAFixedOne) {
  for (std::int64_t batch : {0, 1}) {
    File file({batch, 6});
    file.node("Shape", {"x"}, "shape");
    file.integers("factors", {2, 1});
    file.integers("divisors", {1, 2});
    file.node("Mul", {"shape", "factors"}, "doubled");
    file.node("Div", {"doubled", "divisors"}, "target");  // [2 N, 3]
    file.node("Reshape", {"x", "target"});
    if (batch == 0)
      EXPECT_THAT(file.error(), AllOf(HasSubstr("node 'Mul_2'"), HasSubstr("fixed batch of 1")));
    else
      EXPECT_EQ(file.read().graph.node(1).shape, (Shape{2, 3}));
  }
}

TEST(OnnxReader, ShapesThatDoNotFitAreNamed) {
  File dense;
  dense.floats("w", {5, 2});
  dense.node("MatMul", {"x", "w"});
  EXPECT_THAT(dense.error(), HasSubstr("[onnx] test.onnx: node 'MatMul_1': "));
  File sum({0, 2, 2});
  sum.node("Flatten", {"x"}, "flat");
  sum.node("Add", {"x", "flat"});
  EXPECT_THAT(sum.error(), AllOf(HasSubstr("node 'Add_2'"), HasSubstr("2x2"), HasSubstr("4")));
  File constant;
  constant.floats("c", {3});
  constant.node("Add", {"x", "c"});
  EXPECT_THAT(constant.error(), AllOf(HasSubstr("node 'Add_1'"), HasSubstr("does not fit")));
}

TEST(OnnxReader, FoldedConstantsCannotAskForMuchMemory) {
  File huge;
  huge.integers("shape", {1 << 13, 1 << 13});
  huge.node("ConstantOfShape", {"shape"}, "w");
  huge.node("MatMul", {"x", "w"});
  EXPECT_THAT(huge.error(), HasSubstr("many times its size"));
  File doubling;  // 2^40 numbers, were it carried out
  doubling.floats("c0", {1});
  for (int k = 0; k < 40; ++k)
    File::set(doubling.node("Concat", {"c" + std::to_string(k), "c" + std::to_string(k)},
                            "c" + std::to_string(k + 1)),
              "axis", 0);
  doubling.node("Add", {"x", "c40"});
  EXPECT_THAT(doubling.error(), HasSubstr("many times its size"));
}

TEST(OnnxReader, CyclesAndMissingInputsAreNamed) {
  File cycle;
  cycle.node("Add", {"x", "b"}, "a");
  cycle.node("Relu", {"a"}, "b");
  cycle.node("Relu", {"b"});
  EXPECT_THAT(cycle.error(), AllOf(HasSubstr("node 'Add_1'"), HasSubstr("cycle")));
  File self;
  self.node("Relu", {"y"});
  EXPECT_THAT(self.error(), HasSubstr("cycle"));
  File missing;
  missing.node("Add", {"x", "nowhere"});
  EXPECT_THAT(missing.error(), AllOf(HasSubstr("node 'Add_1'"), HasSubstr("'nowhere'")));
  File none;
  none.node("Relu", {});
  EXPECT_THAT(none.error(), HasSubstr("input"));
  File twice;
  twice.node("Relu", {"x"});
  twice.node("Abs", {"x"});
  EXPECT_THAT(twice.error(), HasSubstr("two nodes make the value 'y'"));
  File no_output;
  no_output.node("Relu", {"x"}, "z");
  EXPECT_THAT(no_output.error(), HasSubstr("output"));
  File second;
  second.node("Dropout", {"x"}, "d").add_output("mask");
  second.node("Relu", {"mask"});
  EXPECT_THAT(second.error(), HasSubstr("'mask'"));
  File outputs;
  outputs.node("Relu", {"x"});
  outputs.graph().add_output()->set_name("x");
  EXPECT_THAT(outputs.error(), AllOf(HasSubstr("2 outputs, 'y', 'x'"), HasSubstr("--output-name y")));
}

// The LSTM of PyTorch begins with zeros whose shape is computed; attention with reshapes. Neither is what
// matters.
TEST(OnnxReader, WhatCannotBeReadAtAllIsNamedBeforeItsSurroundings) {
  File recurrent({0, 5, 4});
  recurrent.node("Shape", {"x"}, "shape");
  recurrent.node("ConstantOfShape", {"shape"}, "zeros");
  recurrent.node("NoSuchThing", {"x"}, "odd");
  recurrent.floats("w", {1, 8, 4});
  recurrent.node("LSTM", {"odd", "w", "w", "", "", "zeros"});
  EXPECT_THAT(recurrent.error(),
              AllOf(HasSubstr("node 'LSTM_4': operator LSTM is not supported: recurrent layers"),
                    HasSubstr("also not supported here: NoSuchThing")));

  File attention({0, 5, 4});
  attention.node("Shape", {"x"}, "shape");
  attention.node("ConstantOfShape", {"shape"}, "zeros");
  attention.node("Add", {"x", "zeros"}, "sum");
  attention.node("MatMul", {"sum", "x"});
  EXPECT_THAT(attention.error(), AllOf(HasSubstr("node 'MatMul_4'"), HasSubstr("attention")));
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

TEST(OnnxReader, InitialisersMustHoldWhatTheyPromise) {
  const auto with_weights = [](const std::function<void(onnx::TensorProto&)>& spoil) {
    File file;
    spoil(file.floats("w", {4, 2}));
    file.node("MatMul", {"x", "w"});
    return file.error();
  };
  EXPECT_EQ(with_weights([](auto&) {}), "no error");
  EXPECT_THAT(with_weights([](auto& w) { w.mutable_float_data()->RemoveLast(); }),
              AllOf(HasSubstr("'w'"), HasSubstr("damaged")));
  EXPECT_THAT(with_weights([](auto& w) { w.set_raw_data("abc"); }),
              HasSubstr("needs 32 bytes, the file has 3"));
  EXPECT_THAT(with_weights([](auto& w) { w.set_dims(0, -4); }), HasSubstr("not possible"));
  EXPECT_THAT(with_weights([](auto& w) { w.set_dims(0, std::int64_t{1} << 62); }), HasSubstr("not possible"));
  EXPECT_THAT(with_weights([](auto& w) { w.set_dims(0, 0); }), HasSubstr("damaged"));
  EXPECT_THAT(with_weights([](auto& w) { w.set_data_type(onnx::TensorProto::COMPLEX64); }),
              HasSubstr("COMPLEX64"));
  EXPECT_THAT(with_weights([](auto& w) { w.set_data_type(12345); }), HasSubstr("12345"));
  EXPECT_THAT(with_weights([](auto& w) { w.set_data_location(onnx::TensorProto::EXTERNAL); }),
              HasSubstr("another file"));
}

TEST(OnnxReader, InputsMustHavePossibleShapes) {
  const auto with_input = [](const Shape& shape) {
    File file(shape);
    file.node("Relu", {"x"});
    return file.error();
  };
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(with_input({1, 4}), "no error");
  for (const Shape& shape :
       {Shape{1, -1}, Shape{1, 0}, Shape{1, huge}, Shape{1, huge, huge}, Shape{4}, Shape{}})
    EXPECT_THAT(with_input(shape), HasSubstr("[onnx] test.onnx: input 'x'")) << to_string(shape);
}

TEST(OnnxReader, AbsurdAttributesAreRefused) {
  constexpr auto low = std::numeric_limits<std::int64_t>::min(),
                 high = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::vector<std::int64_t>> lists{{},
                                                     {0},
                                                     {0, 0},
                                                     {-1, -1},
                                                     {low, high},
                                                     {high, high},
                                                     {1, 1, 1},
                                                     {low, low, low, low},
                                                     {high, high, high, high},
                                                     {-1, 0, 0, 0}};
  for (const char* op : {"Conv", "MaxPool", "AveragePool"})
    for (const char* name : {"kernel_shape", "strides", "dilations", "pads"})
      for (const auto& list : lists) {
        File file({0, 1, 6, 6});
        std::vector<std::string> inputs{"x"};
        if (std::string_view(op) == "Conv") {
          file.floats("w", {1, 1, 2, 2});
          inputs.emplace_back("w");
        }
        onnx::NodeProto& node = file.node(op, inputs);
        File::set(node, name, list);
        if (std::string_view(name) != "kernel_shape")
          File::set(node, "kernel_shape", std::vector<std::int64_t>{2, 2});
        if (std::string_view(name) == "pads" && list.size() == 2) continue;
        EXPECT_THAT(file.error(), HasSubstr("[onnx] test.onnx: node"))
            << op << " " << name << " " << to_string(list);
      }
  for (std::int64_t value : {low, std::int64_t{-9}, std::int64_t{0}, std::int64_t{9}, high}) {
    for (const auto& [op, name] :
         {std::pair{"Concat", "axis"}, std::pair{"Flatten", "axis"}, std::pair{"Softmax", "axis"}}) {
      File file;
      File::set(file.node(op, {"x"}), name, value);
      EXPECT_THAT(file.error(), HasSubstr("[onnx] test.onnx: node")) << op << value;
    }
    File group({0, 1, 6, 6});
    group.floats("w", {1, 1, 2, 2});
    File::set(group.node("Conv", {"x", "w"}), "group", value);
    EXPECT_THAT(group.error(), HasSubstr("[onnx] test.onnx: node")) << value;
    for (std::size_t at = 0; at < 4; ++at) {
      std::vector<std::int64_t> four{0, 1, 0, 1};
      four[at] = value;
      File pad, reshape, transpose({0, 2, 2, 2});
      pad.integers("p", four);
      pad.node("Pad", {"x", "p"});
      pad.error();  // 9 is possible
      reshape.integers("s", four);
      reshape.node("Reshape", {"x", "s"});
      reshape.error();
      File::set(transpose.node("Transpose", {"x"}), "perm", four);
      EXPECT_THAT(transpose.error(), HasSubstr("[onnx]"));
      for (std::int64_t other : {low, std::int64_t{-1}, std::int64_t{1}, high}) {
        File slice;
        slice.integers("starts", {value});
        slice.integers("ends", {other});
        slice.integers("axes", {at == 3 ? value : 1});
        slice.integers("steps", {at == 2 ? other : at == 1 ? value : 1});
        slice.node("Slice", {"x", "starts", "ends", "axes", "steps"});
        slice.error();
      }
    }
  }
}

TEST(OnnxReader, ASmallFileCannotAskForMuchMemory) {
  // 20,000 layers share a megabyte of weights: 20 GB if each took a copy.
  File file({0, 512});
  file.floats("w", {512, 512});
  std::string at = "x";
  for (int i = 0; i < 20000; ++i) {
    const std::string next = "v" + std::to_string(i);
    file.node("MatMul", {at, "w"}, next);
    at = next;
  }
  file.node("Relu", {at});
  EXPECT_THAT(file.error(), HasSubstr("many times its size"));

  File wide({0, 1 << 14, 1 << 14});  // constants along one axis, spread over 2^28 elements, again and again
  wide.floats("c", {1 << 14});
  at = "x";
  for (int i = 0; i < 100; ++i) {
    const std::string next = "v" + std::to_string(i);
    wide.node("Add", {at, "c"}, next);
    at = next;
  }
  wide.node("Relu", {at});
  EXPECT_THAT(wide.error(), HasSubstr("many times its size"));
}

TEST(OnnxReader, ManyEqualNamesAndNodesTakeLittleTime) {
  File file;
  std::string at = "x";
  for (int i = 0; i < 30000; ++i) {
    const std::string next = "v" + std::to_string(i);
    file.node("Relu", {at}, next).set_name("same");
    at = next;
  }
  file.node("Abs", {at});
  EXPECT_EQ(file.read().graph.nodes().size(), 30002u);
}

// A small file with many layer kinds.
std::string small_file() {
  Model model;
  model.graph = build_network("conv2x2-bn-maxout2-prelu-relu6-res(conv2x1)-pool2-inception(id|leaky0.5)-gap",
                              {1, 3, 3}, 2, {1}, {2}, 1);
  model.info.lambda = 0.001;
  model.info.class_names = {"a", "b"};
  return to_onnx_bytes(model);
}

TEST(OnnxReader, SurvivesTruncationAtEveryByte) {
  const std::string bytes = small_file();
  std::size_t errors = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    try {
      from_onnx_bytes(std::string_view(bytes).substr(0, size),
                      "test.onnx");  // only its metadata may be missing
    } catch (const Error& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("[onnx] test.onnx: ")) << error.what();
      ++errors;
    }
  }
  EXPECT_GT(errors, bytes.size() * 9 / 10);
}

TEST(OnnxReader, SurvivesFlippedBytes) {
  const std::string bytes = small_file();
  Random random(17);
  for (int round = 0; round < repetitions(20000, 3000); ++round) {
    std::string damaged = bytes;
    for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips)
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    try {
      const Model model = from_onnx_bytes(damaged, "test.onnx");
      to_onnx_bytes(model);  // a network, then: it can be written
    } catch (const Error& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("[onnx] ")) << error.what();
    }
  }
}

TEST(OnnxReader, SurvivesPiecesOfItself) {
  const std::string bytes = small_file();
  Random random(18);
  for (int round = 0; round < repetitions(5000, 1000); ++round) {
    std::string damaged = bytes;
    const std::size_t from = random.below(bytes.size()), to = random.below(bytes.size());
    const std::size_t size = random.below(std::min<std::size_t>(40, bytes.size() - std::max(from, to)) + 1);
    if (random.below(2) == 0)
      damaged.replace(to, size, bytes, from, size);
    else
      damaged.erase(from, size);
    try {
      from_onnx_bytes(damaged, "test.onnx");
    } catch (const Error& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("[onnx] ")) << error.what();
    }
  }
}

}  // namespace
}  // namespace lwsvm
