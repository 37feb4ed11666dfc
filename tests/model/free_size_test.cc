// Files that leave the height and width of their images free.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/foreign_file.h"
#include "model/onnx_writer.h"

namespace lwsvm {
namespace {

File network(const Shape& input, bool channels_last = false) {
  File file(input);
  auto& dims = *file.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int i = 1; i < dims.dim_size(); ++i)
    if (dims.dim(i).dim_value() == 0) dims.mutable_dim(i)->set_dim_param("any");
  std::string images = "x";
  if (channels_last) {
    File::set(file.node("Transpose", {"x"}, "t"), "perm", std::vector<std::int64_t>{0, 3, 1, 2});
    images = "t";
  }
  file.floats("w", {4, 3, 3, 3});
  file.node("Conv", {images, "w"}, "c");
  file.node("GlobalAveragePool", {"c"}, "p");
  file.node("Flatten", {"p"}, "f");
  file.floats("d", {4, 2});
  file.node("MatMul", {"f", "d"});
  return file;
}

Model read(File& file, ImageSize size = {}) {
  return from_onnx_bytes(file.model().SerializeAsString(), "free.onnx", "", size);
}

Shape input_of(const Model& model) {
  return model.graph.node(model.graph.inputs()[0]).shape;
}

TEST(FreeSize, IsTheUsualOneUnlessTold) {
  File file = network({0, 3, 0, 0});
  const Model usual = read(file);
  EXPECT_EQ(input_of(usual), (Shape{3, 224, 224}));
  ASSERT_EQ(usual.info.notes.size(), 1u);
  EXPECT_THAT(usual.info.notes[0], ::testing::HasSubstr("224 x 224"));
  const Model asked = read(file, {32, 48});
  EXPECT_EQ(input_of(asked), (Shape{3, 32, 48}));
  EXPECT_TRUE(asked.info.notes.empty());
}

TEST(FreeSize, IsRememberedByTheFileAndStaysFree) {
  File file = network({0, 3, 0, 0});
  Model model = read(file, {32, 48});
  model.info.metadata[kPhotosKey] = "resize=64 crop=32x48";
  const Model again = from_onnx_bytes(to_onnx_bytes(model), "again.onnx");
  EXPECT_EQ(input_of(again), (Shape{3, 32, 48}));
  EXPECT_EQ(input_of(from_onnx_bytes(to_onnx_bytes(model), "again.onnx", "", {64, 64})), (Shape{3, 64, 64}));
  model.info.metadata[kPhotosKey] = "stretch=40x56";
  EXPECT_EQ(input_of(from_onnx_bytes(to_onnx_bytes(model), "again.onnx")), (Shape{3, 40, 56}));
  model.info.metadata[kPhotosKey] = "resize=9 crop=0x99999999";
  EXPECT_EQ(input_of(from_onnx_bytes(to_onnx_bytes(model), "again.onnx")), (Shape{3, 224, 224}));
}

TEST(FreeSize, MayHaveItsChannelsLast) {
  File file = network({0, 0, 0, 3}, true);
  EXPECT_EQ(input_of(read(file, {32, 48})), (Shape{32, 48, 3}));
}

TEST(FreeSize, DoesNotChangeFixedOnesAndOfOtherAxesIsAnError) {
  File fixed = network({0, 3, 20, 30});
  EXPECT_EQ(input_of(read(fixed, {32, 48})), (Shape{3, 20, 30}));
  for (const Shape& shape : {Shape{0, 0, 20, 30}, Shape{0, 3, 0, 30}, Shape{0, 5, 0, 0}, Shape{0, 0, 0, 0}}) {
    File file = network(shape);
    EXPECT_THROW(read(file), Error) << to_string(shape);
  }
}

}  // namespace
}  // namespace lwsvm
