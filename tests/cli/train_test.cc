// train, then eval and inspect of what it wrote.
#include <gmock/gmock.h>

#include "cli/program.h"

namespace lwsvm::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Arguments train_small{"train",    "--data", small_data, "--arch", small_net,
                            "--epochs", "2",      "--batch",  "50"};

TEST(Train, PrintsOneJsonObjectWithTheAgreedKeys) {
  TemporaryFolder folder;
  const Result result = run(folder.path(), train_small + Arguments{"--json", "-o", "net.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json value = result.value();
  for (const char* key : {"objective", "accuracy", "train_accuracy", "val_accuracy", "test_accuracy"}) {
    ASSERT_TRUE(value.contains(key)) << key;
    EXPECT_TRUE(value[key].is_number()) << key;
  }
  for (const char* key : {"accuracy", "train_accuracy", "val_accuracy", "test_accuracy"}) {
    EXPECT_GE(value[key], 0) << key;
    EXPECT_LE(value[key], 1) << key;
  }
}

TEST(Train, ChattersOnStandardErrorOnly) {
  TemporaryFolder folder;
  const Result result = run(folder.path(), train_small + Arguments{"-o", "net.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("epoch   1/2"));
  EXPECT_THAT(result.out, Not(HasSubstr("epoch")));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << result.out;
}

TEST(Train, IsSilentOnStandardErrorWhenQuiet) {
  TemporaryFolder folder;
  const Result result = run(folder.path(), train_small + Arguments{"-q", "-o", "net.onnx"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, HasSubstr("net.onnx"));
}

TEST(Train, LeavesNothingButItsFile) {
  TemporaryFolder folder;
  ASSERT_EQ(run(folder.path(), train_small + Arguments{"-o", "net.onnx"}).exit_code, 0);
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Train, StartsFromAnotherNetwork) {
  TemporaryFolder folder;
  make_network(folder.path());
  const Result none = run(folder.path(), {"train", "--init", "base.onnx", "--data", small_data, "--epochs",
                                          "0", "--json", "-o", "none.onnx"});
  ASSERT_EQ(none.exit_code, 0) << none.err;
  const Result base =
      run(folder.path(), {"eval", "base.onnx", "--data", small_data, "--split", "train", "--json"});
  EXPECT_EQ(none.value()["objective"], base.value()["objective"]);
  const Result more = run(folder.path(), {"train", "--init", "base.onnx", "--data", small_data, "--epochs",
                                          "8", "--batch", "50", "--json", "-o", "more.onnx"});
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_LT(more.value()["objective"], base.value()["objective"]);
}

TEST(Train, InitKeepsTheValidationPartThatTheNetworkHasNotSeen) {
  TemporaryFolder folder;
  ASSERT_EQ(run(folder.path(), train_small + Arguments{"--val", "70", "--split-seed", "5", "-o", "base.onnx"})
                .exit_code,
            0);
  const Result more = run(folder.path(), {"train", "--init", "base.onnx", "--data", small_data, "--epochs",
                                          "0", "--json", "-o", "more.onnx"});
  const Result base =
      run(folder.path(), {"eval", "base.onnx", "--data", small_data, "--split", "val", "--json"});
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(more.value()["val_accuracy"], base.value()["accuracy"]);
}

TEST(Train, NeverOverwritesTheNetworkItStartsFrom) {
  TemporaryFolder folder;
  make_network(folder.path());
  const std::string before = read_file(folder / "base.onnx");
  const Result result =
      run(folder.path(), {"train", "--init", "base.onnx", "--data", small_data, "-o", "./base.onnx"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(read_file(folder / "base.onnx"), before);
}

class FrankWolfeOf : public testing::TestWithParam<const char*> {};

// From random weights a large radius can kill every ReLU while the objective falls [BZK19's step, our race].
// Every built-in network comes out alive, that is, better than the best constant answer.
TEST_P(FrankWolfeOf, KeepsTheNetworkAlive) {
  TemporaryFolder folder;
  for (const char* seed : {"0", "1"}) {
    const Result result = run(
        folder.path(), {"train", "--data", "synthetic:n=480,test=60,classes=4,size=28x28,channels=3,seed=2",
                        "--solver", "dfw", "--arch", GetParam(), "--epochs", "3", "--batch", "20", "--seed",
                        seed, "--json", "-o", "net.onnx"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(result.value()["train_accuracy"], 0.4) << seed;
    EXPECT_LT(result.value()["objective"], 1.0) << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(BuiltIn, FrankWolfeOf,
                         testing::Values("mnist", "cifar/8", "cifar-plain/8", "resnet20/2"));

class EvalAfterTrain : public testing::TestWithParam<const char*> {};

TEST_P(EvalAfterTrain, GivesTheSameObjectiveToTheBit) {
  TemporaryFolder folder;
  const Result trained =
      run(folder.path(), train_small + Arguments{"--loss", GetParam(), "--json", "-o", "net.onnx"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Result again =
      run(folder.path(), {"eval", "net.onnx", "--data", small_data, "--split", "train", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.value()["objective"], trained.value()["objective"]);
  EXPECT_EQ(again.value()["accuracy"], trained.value()["train_accuracy"]);
}

INSTANTIATE_TEST_SUITE_P(Losses, EvalAfterTrain, testing::Values("svm", "ce"));

TEST(Eval, FindsTheValidationPartAgain) {
  TemporaryFolder folder;
  const Result trained = run(
      folder.path(), train_small + Arguments{"--val", "70", "--split-seed", "5", "--json", "-o", "net.onnx"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Result again =
      run(folder.path(), {"eval", "net.onnx", "--data", small_data, "--split", "val", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.value()["samples"], 70);
  EXPECT_EQ(again.value()["accuracy"], trained.value()["val_accuracy"]);
}

TEST(Eval, OfTheTestPartIsWhatTrainSaid) {
  TemporaryFolder folder;
  const Result trained = run(folder.path(), train_small + Arguments{"--json", "-o", "net.onnx"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Result again = run(folder.path(), {"eval", "net.onnx", "--data", small_data, "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.value()["split"], "test");
  EXPECT_EQ(again.value()["accuracy"], trained.value()["test_accuracy"]);
  EXPECT_THAT(again.err, IsEmpty());
}

TEST(Inspect, PrintsOneJsonObject) {
  TemporaryFolder folder;
  make_network(folder.path());
  const Result result = run(folder.path(), {"inspect", "base.onnx", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json value = result.value();
  EXPECT_EQ(value["classes"], 3);
  EXPECT_EQ(value["arch"], small_net);
  EXPECT_EQ(value["lambda"], 0.001);
  std::int64_t parameters = 0;
  for (const json& layer : value["layers"]) parameters += layer["parameters"].get<std::int64_t>();
  EXPECT_EQ(value["parameters"], parameters);
}

TEST(Inspect, ShowsEveryLayerInItsTable) {
  TemporaryFolder folder;
  make_network(folder.path());
  const Result result = run(folder.path(), {"inspect", "base.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* name : {"conv1", "relu1", "pool1", "dense1", "relu2", "svm"})
    EXPECT_THAT(result.out, HasSubstr(name));
}

}  // namespace
}  // namespace lwsvm::cli
