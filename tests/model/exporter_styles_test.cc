// Small networks as exporters write them, each against the same network computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "model/foreign_file.h"
#include "model/graphs.h"
#include "net/program.h"

namespace lwsvm {
namespace {

using testing::FloatNear;
using testing::Pointwise;

constexpr int kSamples = 3;

std::vector<float> scores(const Model& model, const std::vector<float>& inputs) {
  ProgramOptions options;
  options.samples = kSamples;
  Program program(model.graph, options);
  program.load(model.graph);
  Workspace workspace = program.make_workspace();
  std::copy(inputs.begin(), inputs.end(), program.input(workspace));
  program.forward(workspace, PatternUse::ignore);
  const float* out = program.output(workspace);
  return {out, out + kSamples * element_count(model.graph.node(model.graph.scores()).shape)};
}

void expect_scores(const File& file, const std::vector<float>& inputs, const std::vector<float>& expected) {
  EXPECT_THAT(scores(file.read(), inputs), Pointwise(FloatNear(1e-4f), expected));
}

// y[out] = sum_in W[out][in] x[in] + b[out]
std::vector<float> dense(const std::vector<float>& x, const std::vector<float>& w,
                         const std::vector<float>& b) {
  std::vector<float> y;
  const std::size_t in = w.size() / b.size();
  for (std::size_t n = 0; n < x.size() / in; ++n)
    for (std::size_t o = 0; o < b.size(); ++o) {
      double sum = b[o];
      for (std::size_t i = 0; i < in; ++i) sum += static_cast<double>(w[o * in + i]) * x[n * in + i];
      y.push_back(static_cast<float>(sum));
    }
  return y;
}

std::vector<float> relu(std::vector<float> x) {
  for (float& value : x) value = std::max(value, 0.0f);
  return x;
}

std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  return random_floats(count, -1, 1, seed);
}

void constant(File& file, const std::string& name, const Shape& dims,
              const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& attribute = *file.node("Constant", {}, name).add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  attribute.mutable_t()->set_data_type(onnx::TensorProto::INT64);
  for (std::int64_t size : dims) attribute.mutable_t()->add_dims(size);
  for (std::int64_t value : values) attribute.mutable_t()->add_int64_data(value);
}

// x.view(x.size(0), x.size(1) * x.size(2) * x.size(3)), nothing folded.
TEST(ExporterStyles, PyTorchFlattensByShapeArithmetic) {
  for (std::int64_t batch : {0, 1}) {  // free, and fixed
    File file({batch, 2, 2, 3});
    file.node("Shape", {"x"}, "shape");
    for (std::int64_t axis : {0, 1, 2, 3}) {
      const std::string k = std::to_string(axis);
      constant(file, "at" + k, {}, {axis});
      file.node("Gather", {"shape", "at" + k}, "size" + k);
    }
    file.node("Mul", {"size1", "size2"}, "area");
    file.node("Mul", {"area", "size3"}, "count");
    file.integers("zero", {0});
    file.node("Unsqueeze", {"size0", "zero"}, "batch");
    file.node("Unsqueeze", {"count", "zero"}, "features");
    File::set(file.node("Concat", {"batch", "features"}, "target"), "axis", 0);
    file.node("Reshape", {"x", "target"}, "flat");
    const auto w = numbers(48, 1), b = numbers(4, 2), x = numbers(kSamples * 12, 3);
    file.floats("w", {4, 12}, w);
    file.floats("b", {4}, b);
    File::set(file.node("Gemm", {"flat", "w", "b"}), "transB", 1);
    expect_scores(file, x, dense(x, w, b));
  }
}

// F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 1, 1)): the amounts in PyTorch's order, turned round in the file.
TEST(ExporterStyles, PyTorchShortcutsOfStridedSlicesAndPads) {
  File file({0, 1, 3, 3});
  for (const auto& [axis, from, to] : {std::tuple{2, "x", "rows"}, std::tuple{3, "rows", "pixels"}}) {
    const std::string k = std::to_string(axis);
    constant(file, "axis" + k, {1}, {axis});
    constant(file, "start" + k, {1}, {0});
    constant(file, "end" + k, {1}, {INT64_MAX});
    constant(file, "step" + k, {1}, {2});
    file.node("Slice", {from, "start" + k, "end" + k, "axis" + k, "step" + k}, to);
  }
  constant(file, "amounts", {6}, {0, 0, 0, 0, 1, 1});
  file.node("Shape", {"amounts"}, "given");
  constant(file, "eight", {1}, {8});
  file.node("Sub", {"eight", "given"}, "missing");
  file.node("ConstantOfShape", {"missing"}, "float_zeros");
  File::set(file.node("Cast", {"float_zeros"}, "zeros"), "to", int{onnx::TensorProto::INT64});
  File::set(file.node("Concat", {"amounts", "zeros"}, "all"), "axis", 0);
  constant(file, "pairs", {2}, {-1, 2});
  file.node("Reshape", {"all", "pairs"}, "table");
  constant(file, "minus_one", {1}, {-1});
  constant(file, "far", {1}, {-INT64_MAX});
  constant(file, "first", {1}, {0});
  file.node("Slice", {"table", "minus_one", "far", "first", "minus_one"}, "reversed");
  File::set(file.node("Transpose", {"reversed"}, "columns"), "perm", std::vector<std::int64_t>{1, 0});
  file.node("Reshape", {"columns", "minus_one"}, "pads");
  file.node("Pad", {"pixels", "pads"}, "padded");
  File::set(file.node("Flatten", {"padded"}), "axis", 1);
  const auto x = numbers(kSamples * 9, 4);
  std::vector<float> expected;
  for (std::size_t n = 0; n < kSamples; ++n) {
    const float corners[] = {x[9 * n], x[9 * n + 2], x[9 * n + 6], x[9 * n + 8]};
    expected.insert(expected.end(), 4, 0.0f);
    expected.insert(expected.end(), corners, corners + 4);
    expected.insert(expected.end(), 4, 0.0f);
  }
  expect_scores(file, x, expected);
}

// Channels last in and before Flatten, channels first for the convolution; MatMul and Add.
TEST(ExporterStyles, KerasTransposesAroundItsConvolutions) {
  File file({0, 2, 2, 3});
  const auto k = numbers(2 * 3, 5), kb = numbers(2, 6), w = numbers(8 * 4, 7), b = numbers(4, 8),
             x = numbers(kSamples * 12, 9);
  File::set(file.node("Transpose", {"x"}, "first"), "perm", std::vector<std::int64_t>{0, 3, 1, 2});
  file.floats("kernel", {2, 3, 1, 1}, k);
  file.floats("kernel_bias", {2}, kb);
  file.node("Conv", {"first", "kernel", "kernel_bias"}, "conv");
  file.node("Relu", {"conv"}, "relu");
  File::set(file.node("Transpose", {"relu"}, "last"), "perm", std::vector<std::int64_t>{0, 2, 3, 1});
  file.node("Flatten", {"last"}, "flat");
  std::vector<float> transposed(w.size());  // the file has [in][out]
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t o = 0; o < 4; ++o) transposed[i * 4 + o] = w[o * 8 + i];
  file.floats("dense", {8, 4}, transposed);
  file.floats("bias", {4}, b);
  file.node("MatMul", {"flat", "dense"}, "product");
  file.node("Add", {"product", "bias"}, "scores");
  file.node("Softmax", {"scores"});
  // Channels last, a 1x1 convolution is a dense layer on every pixel, and Flatten does nothing.
  expect_scores(file, x, dense(relu(dense(x, k, kb)), w, b));
}

// Weights as [C][H][W][out], reshaped by a constant; a batch of 1; the bias as a matrix of one row.
TEST(ExporterStyles, CntkReshapesConstantsAndFixesTheBatch) {
  File file({1, 2, 2, 2}, 8);
  const auto w = numbers(4 * 8, 10), b = numbers(4, 11), x = numbers(kSamples * 8, 12);
  std::vector<float> stored(w.size());
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t o = 0; o < 4; ++o) stored[i * 4 + o] = w[o * 8 + i];
  file.floats("Parameter193", {2, 2, 2, 4}, stored);
  file.integers("weight_shape", {8, 4});
  file.integers("value_shape", {1, 8});
  file.floats("Parameter194", {1, 4}, b);
  file.node("Reshape", {"x", "value_shape"}, "flat");
  file.node("Reshape", {"Parameter193", "weight_shape"}, "matrix");
  file.node("MatMul", {"flat", "matrix"}, "Times212");
  file.node("Add", {"Times212", "Parameter194"});
  expect_scores(file, x, dense(x, w, b));
}

// Normalisation by Sub and Div, then columns instead of rows: W x' + b, and back.
TEST(ExporterStyles, MatlabAndScikitLearnNormaliseAndMultiplyFromTheLeft) {
  File file({0, 5});
  const auto w = numbers(3 * 5, 13), b = numbers(3, 14), mean = numbers(5, 15),
             deviation = random_floats(5, 1, 2, 16), x = numbers(kSamples * 5, 17);
  file.floats("mean", {1, 5}, mean);
  file.floats("deviation", {5}, deviation);
  file.floats("W", {3, 5}, w);
  file.floats("b", {3, 1}, b);
  file.node("Sub", {"x", "mean"}, "centred");
  file.node("Div", {"centred", "deviation"}, "normal");
  File::set(file.node("Transpose", {"normal"}, "columns"), "perm", std::vector<std::int64_t>{1, 0});
  file.node("MatMul", {"W", "columns"}, "product");
  file.node("Add", {"product", "b"}, "scores");
  file.node("Transpose", {"scores"}, "rows");
  File::set(file.node("ArgMax", {"rows"}), "axis", 1);
  std::vector<float> normal = x;
  for (std::size_t i = 0; i < x.size(); ++i) normal[i] = (x[i] - mean[i % 5]) / deviation[i % 5];
  expect_scores(file, x, dense(normal, w, b));
}

TEST(ExporterStyles, TensorFlowReducesOverSpaceChannelsLast) {
  File file({0, 2, 2, 3}, 11);
  onnx::NodeProto& mean = file.node("ReduceMean", {"x"});
  File::set(mean, "axes", std::vector<std::int64_t>{1, 2});
  File::set(mean, "keepdims", 0);
  const auto x = numbers(kSamples * 12, 18);
  std::vector<float> expected;
  for (std::size_t n = 0; n < kSamples; ++n)
    for (std::size_t c = 0; c < 3; ++c) {
      float sum = 0;
      for (std::size_t p = 0; p < 4; ++p) sum += x[n * 12 + p * 3 + c];
      expected.push_back(sum / 4);
    }
  expect_scores(file, x, expected);
}

TEST(ExporterStyles, SwishIsAProductWithItsOwnSigmoidAndCannotBeSeenThrough) {
  File file({0, 4});
  file.node("Sigmoid", {"x"}, "gate");
  file.node("Mul", {"x", "gate"});
  const auto x = numbers(kSamples * 4, 19);
  std::vector<float> expected;
  for (float value : x) expected.push_back(value / (1 + std::exp(-value)));
  expect_scores(file, x, expected);
  const Model model = file.read();
  EXPECT_EQ(model.graph.node(model.graph.output()).layer->linearity(), Linearity::neither);
}

TEST(ExporterStyles, NewerOpsetsLoadWithAWord) {
  File file({0, 4}, 19);
  file.node("Relu", {"x"});
  const Model model = file.read();
  ASSERT_EQ(model.info.notes.size(), 1u);
  EXPECT_THAT(model.info.notes[0], testing::HasSubstr("opset 19"));
  File known({0, 4}, 17);
  known.node("Relu", {"x"});
  EXPECT_TRUE(known.read().info.notes.empty());
}

}  // namespace
}  // namespace lwsvm
