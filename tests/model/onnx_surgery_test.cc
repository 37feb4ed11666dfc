// A model that was read is written as the file it came from, with other numbers where its weights were:
// nothing else changes, and what the file gives is what was computed with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "model/foreign_cases.h"
#include "model/onnx_writer.h"
#include "model/storage.h"

namespace lwsvm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

Model read(const onnx::ModelProto& proto) {
  return from_onnx_bytes(proto.SerializeAsString(), "test.onnx");
}

onnx::ModelProto written(const Model& model) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(to_onnx_bytes(model)));
  return proto;
}

std::span<float> weights_of(Model& model, const std::string& layer) {
  const ParameterRange& range = model.graph.node(*model.graph.find(layer)).trained;
  return {model.graph.parameters().data() + range.begin, static_cast<std::size_t>(range.size)};
}

// Other weights for one layer, such as the file can hold.
void change(Model& model, const std::string& layer) {
  Random random(5);
  for (float& w : weights_of(model, layer)) w += static_cast<float>(random.uniform(0.01, 0.5));
  round_to_storage(model, *model.graph.find(layer), weights_of(model, layer));
}

std::vector<onnx::TensorProto*> tensors_of(onnx::ModelProto& proto) {
  std::vector<onnx::TensorProto*> all;
  for (auto& tensor : *proto.mutable_graph()->mutable_initializer()) all.push_back(&tensor);
  for (auto& node : *proto.mutable_graph()->mutable_node())
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.has_t()) all.push_back(attribute.mutable_t());
  return all;
}

// Which tensors have other data; everything but data must be equal.
std::vector<std::string> changed_tensors(onnx::ModelProto before, onnx::ModelProto after) {
  std::vector<std::string> changed;
  const auto old_tensors = tensors_of(before), new_tensors = tensors_of(after);
  EXPECT_EQ(old_tensors.size(), new_tensors.size());
  for (std::size_t i = 0; i < old_tensors.size() && i < new_tensors.size(); ++i) {
    if (old_tensors[i]->SerializeAsString() != new_tensors[i]->SerializeAsString())
      changed.push_back(old_tensors[i]->name());
    for (onnx::TensorProto* tensor : {old_tensors[i], new_tensors[i]}) {
      // The data stays in its field, of the same size.
      if (tensor->has_raw_data()) tensor->set_raw_data(std::to_string(tensor->raw_data().size()));
      for (float& value : *tensor->mutable_float_data()) value = 0;
      for (double& value : *tensor->mutable_double_data()) value = 0;
      for (auto& value : *tensor->mutable_int32_data()) value = 0;
    }
  }
  EXPECT_EQ(before.SerializeAsString(), after.SerializeAsString()) << "something beside the numbers changed";
  return changed;
}

class Surgery : public testing::TestWithParam<ForeignCase> {};

TEST_P(Surgery, WithoutAChangeGivesTheSameBytes) {
  const std::string bytes = GetParam().proto.SerializeAsString();
  EXPECT_EQ(to_onnx_bytes(from_onnx_bytes(bytes, "test.onnx")), bytes);
}

TEST_P(Surgery, ChangesTheLayersTensorsAndNothingElse) {
  Model model = read(GetParam().proto);
  change(model, GetParam().layer);
  EXPECT_THAT(changed_tensors(GetParam().proto, written(model)),
              UnorderedElementsAreArray(GetParam().tensors));
}

TEST_P(Surgery, ReadsBackAsWhatWasComputedWith) {
  Model model = read(GetParam().proto);
  change(model, GetParam().layer);
  EXPECT_EQ(read(written(model)).graph.parameters(), model.graph.parameters());
}

TEST_P(Surgery, RoundsToTheNearestThatCanBeStored) {
  Model model = read(GetParam().proto);
  const int node = *model.graph.find(GetParam().layer);
  const std::vector<float> as_read = model.graph.parameters();
  EXPECT_FALSE(round_to_storage(model, node, weights_of(model, GetParam().layer)));
  EXPECT_EQ(model.graph.parameters(), as_read) << "what the file holds can be stored";
  Random random(6);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> wanted(weights_of(model, GetParam().layer).size());
    for (float& w : wanted) w = static_cast<float>(random.uniform(-2, 2));
    std::vector<float> stored = wanted;
    round_to_storage(model, node, stored);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(stored[i], wanted[i], std::abs(wanted[i]) / 250);  // bfloat16 has 8 bits
    std::vector<float> again = stored;
    EXPECT_FALSE(round_to_storage(model, node, again));
    EXPECT_EQ(again, stored);
  }
}

TEST_P(Surgery, HidesNoInfinity) {
  Model model = read(GetParam().proto);
  for (float& w : weights_of(model, GetParam().layer)) w = std::copysign(INFINITY, w);
  round_to_storage(model);
  EXPECT_EQ(read(written(model)).graph.parameters(), model.graph.parameters());
  for (float w : weights_of(model, GetParam().layer)) EXPECT_TRUE(std::isinf(w));
}

INSTANTIATE_TEST_SUITE_P(Styles, Surgery, testing::ValuesIn(foreign_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(OnnxSurgery, NumbersThatDoNotChangeKeepTheirBits) {
  File file;
  onnx::TensorProto& w = file.floats("w", {4, 2});
  convert(w, onnx::TensorProto::DOUBLE, false);
  for (double& value : *w.mutable_double_data()) value += 1e-12;  // more than float32 sees
  file.node("MatMul", {"x", "w"});
  Model model = file.read();
  weights_of(model, "MatMul_1")[1] = 0.1f;  // [out][in]: input 1 of output 0
  const onnx::ModelProto after = written(model);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(after.graph().initializer(0).double_data(i), i == 2 ? double(0.1f) : double(i + 1) + 1e-12);
}

TEST(OnnxSurgery, Float16SaturatesAndRoundsToEven) {
  File file;
  convert(file.floats("w", {4, 2}), onnx::TensorProto::FLOAT16, true);
  File::set(file.node("Cast", {"w"}, "w32"), "to", int{onnx::TensorProto::FLOAT});
  file.node("MatMul", {"x", "w32"});
  Model model = file.read();
  std::vector<float> values{1e6f, -1e6f, 2049.0f, 2051.0f, 1.0f / 3, 1e-9f, 6e-8f, -0.0f};
  EXPECT_TRUE(round_to_storage(model, *model.graph.find("MatMul_2"), values));
  EXPECT_THAT(values,
              testing::ElementsAre(65504, -65504, 2048, 2052, 1365.0f / 4096, 0, std::ldexp(1.0f, -24), 0));
}

// What a float16 converter makes of a network: input, weights and output in float16, or casts around it.
TEST(OnnxSurgery, AFloat16NetworkIsReadAndWritten) {
  for (bool casts : {false, true}) {
    File file;
    for (auto* value : {file.graph().mutable_input(0), file.graph().mutable_output(0)})
      if (!casts) value->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT16);
    convert(file.floats("w", {4, 2}), onnx::TensorProto::FLOAT16, true);
    if (casts) File::set(file.node("Cast", {"x"}, "x16"), "to", int{onnx::TensorProto::FLOAT16});
    const std::string layer = file.node("MatMul", {casts ? "x16" : "x", "w"}, casts ? "y16" : "y").name();
    if (casts) File::set(file.node("Cast", {"y16"}), "to", int{onnx::TensorProto::FLOAT});
    Model model = file.read();
    change(model, layer);
    EXPECT_THAT(changed_tensors(file.model(), written(model)), testing::ElementsAre("w"));
    EXPECT_EQ(read(written(model)).graph.parameters(), model.graph.parameters());
  }
}

TEST(OnnxSurgery, MetadataIsAddedAndTheFilesOwnStays) {
  Model model = read(foreign_cases()[0].proto);
  model.info.lambda = 0.001;
  model.info.metadata["lwsvm.loss"] = "svm";
  const onnx::ModelProto after = written(model);
  std::vector<std::pair<std::string, std::string>> props;
  for (const auto& entry : after.metadata_props()) props.emplace_back(entry.key(), entry.value());
  EXPECT_THAT(props, testing::ElementsAre(std::pair("author", "somebody"), std::pair("lwsvm.lambda", "0.001"),
                                          std::pair("lwsvm.loss", "svm")));
  EXPECT_EQ(after.producer_name(), "another program");
  Model again = read(after);
  again.info.lambda = 0.002;
  EXPECT_EQ(written(again).metadata_props_size(), 3);
  EXPECT_EQ(read(written(again)).info.lambda, 0.002);
}

// Why the layer cannot be changed; and that it is refused when it is changed nonetheless.
std::string obstacle(const File& file, const std::string& layer) {
  Model model = file.read();
  const std::string reason = why_not_storable(model, *model.graph.find(layer));
  for (float& w : weights_of(model, layer)) w += 1.0f;
  if (reason.empty())
    EXPECT_NO_THROW(to_onnx_bytes(model));
  else
    EXPECT_THROW(to_onnx_bytes(model), Error);
  return reason;
}

TEST(OnnxSurgery, WeightsOfTwoNodesCannotBeChangedForOne) {
  File tied({0, 2});
  tied.floats("w", {2, 2});
  tied.floats("v", {2, 2});
  tied.node("MatMul", {"x", "w"}, "a");
  tied.node("Relu", {"a"}, "r");
  tied.node("MatMul", {"r", "w"}, "b");
  tied.node("MatMul", {"b", "v"});
  EXPECT_THAT(obstacle(tied, "MatMul_1"),
              HasSubstr("its weight 'w' is used by 2 nodes, node 'MatMul_1' and node 'MatMul_3'"));
  EXPECT_THAT(obstacle(tied, "MatMul_3"), HasSubstr("'MatMul_1'"));
  EXPECT_THAT(obstacle(tied, "MatMul_4"), IsEmpty());
}

TEST(OnnxSurgery, AlsoWhereTheSecondUseIsAfterATranspose) {
  File tied({0, 2});
  tied.floats("w", {2, 2});
  tied.node("Identity", {"w"}, "same");
  tied.node("Transpose", {"same"}, "turned");
  tied.node("MatMul", {"x", "w"}, "a");
  tied.node("MatMul", {"a", "turned"});
  EXPECT_THAT(obstacle(tied, "MatMul_3"), HasSubstr("used by 2 nodes"));
  EXPECT_THAT(obstacle(tied, "MatMul_4"), HasSubstr("used by 2 nodes"));
}

TEST(OnnxSurgery, AlsoWhereTheSecondUseIsNoLayer) {
  File tied({0, 2});
  tied.floats("w", {2, 2});
  tied.floats("b", {2});
  tied.node("Mul", {"x", "b"}, "scaled");
  tied.node("Gemm", {"scaled", "w", "b"});
  EXPECT_THAT(obstacle(tied, "Gemm_2"), HasSubstr("its bias 'b' is used by 2 nodes"));
}

TEST(OnnxSurgery, ABiasThatIsOneNumberForAllCannotBeChanged) {
  File file;
  file.floats("w", {4, 2});
  file.floats("b", {1});
  file.node("Gemm", {"x", "w", "b"});
  EXPECT_THAT(obstacle(file, "Gemm_1"), HasSubstr("its bias 'b' is used by node 'Gemm_1', more than once"));
}

TEST(OnnxSurgery, WeightsAfterWhatCannotBeUndoneCannotBeChanged) {
  File file;
  file.floats("w", {4, 2});
  file.floats("b", {2});
  File::set(file.node("Gemm", {"x", "w", "b"}), "alpha", 0.0f);
  EXPECT_THAT(obstacle(file, "Gemm_1"), HasSubstr("computes its weight"));
}

}  // namespace
}  // namespace lwsvm
