// What cannot be read is refused with one clear Error, which names what matters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "model/graphs.h"
#include "model/onnx_read.h"
#include "model/onnx_writer.h"

namespace lwsvm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

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

}  // namespace
}  // namespace lwsvm
