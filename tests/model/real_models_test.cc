// Networks that others trained, if they are beside this folder (../shared/models): each loads, and has on the
// whole test set the accuracy that ONNX Runtime measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "data/normalization.h"
#include "data/sample_view.h"
#include "model/adapt_input.h"
#include "model/onnx_reader.h"
#include "net/evaluator.h"

namespace lwsvm {
namespace {

struct RealModel {
  const char* file;
  const char* data;
  double scale;  // pixels are divided by this, then normalised
  std::vector<double> mean, deviation;
  double accuracy;  // in percent, as in its README
};

const std::vector<double> kNothing{0}, kOne{1}, kImageNet{0.485, 0.456, 0.406};

const std::vector<RealModel> kModels{
    {"cifar10_resnet20", "cifar10", 255, kImageNet, {0.229, 0.224, 0.225}, 91.73},
    {"oval_cifar_base_kw", "cifar10", 255, kImageNet, {0.225}, 58.53},
    {"oval_cifar_deep_kw", "cifar10", 255, kImageNet, {0.225}, 55.31},
    {"oval_cifar_wide_kw", "cifar10", 255, kImageNet, {0.225}, 61.62},
    {"marabou_cnn_max_mninst2", "mnist", 255, kNothing, kOne, 98.23},
    {"marabou_cnn_max_mninst3", "mnist", 255, kNothing, kOne, 98.04},
    {"marabou_mnist2x10", "mnist", 255, kNothing, kOne, 92.26},
    {"marabou_mnist5x20_leaky_relu", "mnist", 255, kNothing, kOne, 94.51},
    {"wonnx_opt-mnist_cntk", "mnist", 1, kNothing, kOne, 98.91},
};

std::filesystem::path folder() {
  return std::filesystem::path(LWSVM_SOURCE_DIR) / ".." / "shared" / "models";
}

class RealModels : public testing::TestWithParam<RealModel> {};

TEST_P(RealModels, HaveTheAccuracyThatOnnxRuntimeMeasured) {
  const RealModel& wanted = GetParam();
  const auto path = folder() / (std::string(wanted.file) + ".onnx");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  Model model = read_onnx(path);
  const int scores = model.graph.scores();
  EXPECT_EQ(element_count(model.graph.node(scores).shape), 10);

  DataSet data;
  try {
    data = load_data(wanted.data);
  } catch (const Error& error) {
    GTEST_SKIP() << wanted.data << " is not there: " << error.what();
  }
  NormalizationOptions options;
  options.scale = wanted.scale, options.mean = wanted.mean, options.std = wanted.deviation;
  const Shape image{data.shape.channels, data.shape.height, data.shape.width};
  ASSERT_TRUE(can_take(model.graph.node(model.graph.inputs()[0]).shape, image));
  const Normalization constants = make_normalization(data, {}, options);
  adapt_input(model, image, constants.mean, constants.std);
  const SampleView samples(data.test);
  const Threads threads(2);
  Evaluator evaluator(model.graph, threads);
  const LossSums sums = evaluator.evaluate(samples, Loss(LossKind::hinge, MarginMatrix(10)));
  EXPECT_EQ(sums.samples, 10000);
  RecordProperty("accuracy", std::to_string(100 * sums.accuracy()));
  std::printf("%-30s %.2f%%\n", wanted.file, 100 * sums.accuracy());
  EXPECT_NEAR(100 * sums.accuracy(), wanted.accuracy, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Shared, RealModels, testing::ValuesIn(kModels), [](const auto& instance) {
  std::string name = instance.param.file;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace lwsvm
