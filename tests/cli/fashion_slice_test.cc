// refine on real images: a slice of Fashion-MNIST, several networks, seeds, lambdas and margins.
#include <gmock/gmock.h>

#include "cli/never_rises.h"
#include "cli/program.h"
#include "data/registry.h"
#include "judge.h"

namespace lwsvm::cli {
namespace {

constexpr std::size_t kTrain = 1200, kTest = 200;

std::string big_endian(std::size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

// The first samples, as IDX files.
void write_slice(const Samples& samples, std::size_t count, const std::filesystem::path& folder,
                 const std::string& prefix) {
  constexpr std::size_t side = 28;
  std::string images = big_endian(0x803) + big_endian(count) + big_endian(side) + big_endian(side);
  std::string labels = big_endian(0x801) + big_endian(count);
  std::vector<float> pixels(side * side);
  for (std::size_t i = 0; i < count; ++i) {
    samples.read(i, pixels.data());
    for (float pixel : pixels) images.push_back(static_cast<char>(static_cast<unsigned char>(pixel)));
    labels.push_back(static_cast<char>(samples.labels()[i]));
  }
  write_file_atomically(folder / (prefix + "-images-idx3-ubyte"), images);
  write_file_atomically(folder / (prefix + "-labels-idx1-ubyte"), labels);
}

// A margin for every pair: mistaking one piece of clothing for another costs 1, for a bag or a shoe 2.
std::string clothing_margins() {
  const auto kind = [](int label) { return label == 5 || label == 7 || label == 9 ? 1 : label == 8 ? 2 : 0; };
  std::string csv;
  for (int predicted = 0; predicted < 10; ++predicted)
    for (int truth = 0; truth < 10; ++truth)
      csv += std::to_string(predicted == truth               ? 0
                            : kind(predicted) == kind(truth) ? 1
                                                             : 2) +
             (truth == 9 ? "\n" : ",");
  return csv;
}

struct Setting {
  const char* name;
  const char* arch;
  const char* seed;
  const char* lambda;
  bool margins;
};
void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.arch << ", lambda " << setting.lambda;
}

class FashionSlice : public testing::TestWithParam<Setting> {};

TEST_P(FashionSlice, ObjectiveFallsAtEveryAcceptedUpdate) {
  if (find_data(*find_known("fashion-mnist"), {}).empty())
    LWSVM_NO_JUDGE() << "Fashion-MNIST is not installed (Debian: dataset-fashion-mnist)";
  const Setting& setting = GetParam();
  const TemporaryFolder folder;
  const DataSet images = load_data("fashion-mnist");
  std::filesystem::create_directory(folder / "slice");
  write_slice(images.train, kTrain, folder / "slice", "train");
  write_slice(images.test, kTest, folder / "slice", "t10k");
  Arguments task{"--data", "slice", "--val", "200", "--seed", setting.seed, "--lambda", setting.lambda};
  if (setting.margins) {
    write_file_atomically(folder / "delta.csv", clothing_margins());
    task = task + Arguments{"--delta", "delta.csv"};
  }
  const Result trained = run(
      folder.path(),
      Arguments{"train", "--arch", setting.arch, "--epochs", "2", "--batch", "50", "-o", "base.onnx"} + task);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Result refined = run(folder.path(), Arguments{"refine", "base.onnx", "--passes", "2", "--max-epochs",
                                                      "10", "--run", "run", "--json", "-o", "better.onnx"} +
                                                task);
  ASSERT_EQ(refined.exit_code, 0) << refined.err;
  const json value = refined.value();
  EXPECT_EQ(value["rises"], 0);
  EXPECT_LT(value["objective"], value["start"]["objective"]);
  expect_never_rises(folder / "run/log.jsonl", value["start"]["objective"], 2);
}

INSTANTIATE_TEST_SUITE_P(
    Nets, FashionSlice,
    testing::Values(
        Setting{"chain", "conv6x5-relu-pool2-conv6x5-relu-pool2-dense24-relu", "1", "1e-3", false},
        Setting{"chain_margins", "conv6x5-relu-pool2-dense16-relu", "2", "1e-2", true},
        Setting{"chain_small_lambda", "conv4x3-relu-pool2-dense16-relu", "3", "1e-5", false},
        Setting{"residual", "conv6x3-relu-pool2-res(conv6x3-relu-conv6x3)-relu-pool2", "4", "1e-3", false},
        Setting{"inception", "conv4x3-relu-pool2-inception(conv4x3-relu|conv3x1-relu)-pool2", "5", "1e-4",
                false},
        Setting{"maxout", "conv6x3-maxout2-pool2-dense12-maxout2", "6", "1e-3", true},
        Setting{"leaky", "conv4x3-leaky0.1-pool2-dense12-leaky0.1", "7", "1e-2", false}),
    [](const auto& setting) { return std::string(setting.param.name); });

}  // namespace
}  // namespace lwsvm::cli
