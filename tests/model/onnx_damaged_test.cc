// Bad files: each gives a network or one clear Error, never a crash, a hang or a huge allocation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/random.h"
#include "model/arch.h"
#include "model/onnx_read.h"
#include "model/onnx_writer.h"
#include "repetitions.h"

namespace lwsvm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

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
