// refine: the objective never rises, whatever the network, the search space and the margins.
#include <gmock/gmock.h>

#include "base/units.h"
#include "cli/never_rises.h"
#include "cli/program.h"
#include "report/run_log.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

struct Net {
  const char* name;
  const char* arch;
};
void PrintTo(const Net& net, std::ostream* out) {
  *out << net.name;
}

class NeverRises : public testing::TestWithParam<std::tuple<Net, std::string>> {};

TEST_P(NeverRises, OnAcceptedUpdates) {
  const auto& [net, search] = GetParam();
  const std::string seed = std::to_string(std::string(net.name).size() + search.size());
  TemporaryFolder folder;
  make_network(folder.path(), "base.onnx", net.arch, small_data, seed);
  const Result result = run(
      folder.path(), {"refine", "base.onnx", "--data", small_data, "--search", search, "--passes", "2",
                      "--max-epochs", "10", "--seed", seed, "--run", "run", "--json", "-o", "better.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json value = result.value();
  EXPECT_EQ(value["rises"], 0);
  EXPECT_GT(value["updates"], value["rejected"]);
  EXPECT_LE(value["objective"], value["start"]["objective"]);
  expect_never_rises(folder / "run/log.jsonl", value["start"]["objective"], 2);
}

INSTANTIATE_TEST_SUITE_P(
    Nets, NeverRises,
    testing::Combine(testing::Values(Net{"chain", "conv4x3-relu-pool2-dense8-relu"},
                                     Net{"residual", "conv4x3-relu-res(conv4x3-relu-conv4x3)-relu-pool2"},
                                     Net{"inception",
                                         "inception(conv3x3-relu|conv2x1-relu)-pool2-dense8-relu"},
                                     Net{"maxout", "conv4x3-maxout2-pool2-dense6-maxout2"},
                                     Net{"leaky", "conv4x3-leaky0.1-pool2-dense8-leaky0.1"},
                                     Net{"batchnorm", "conv4x3-bn-relu-avgpool2-dense8-bn-relu"}),
                     testing::Values<std::string>("auto", "full", "labels")),
    [](const auto& parameters) {
      return std::string(std::get<0>(parameters.param).name) + "_" + std::get<1>(parameters.param);
    });

class Refine : public testing::Test {
 protected:
  Refine() { make_network(folder_.path()); }
  Result refine(const Arguments& more) {
    return run(folder_.path(),
               Arguments{"refine", "base.onnx", "--data", small_data, "--passes", "1"} + more);
  }

  TemporaryFolder folder_;
};

TEST_F(Refine, NeverRaisesTheObjectiveOfANonTrivialDelta) {
  write_file_atomically(folder_ / "delta.csv", "0,1,3\n2,0,0.5\n1,4,0\n");
  const Result result = refine({"--delta", "delta.csv", "--json", "--run", "run", "-o", "better.onnx",
                                "--keep", "last", "--moves", "layers"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.value()["rises"], 0);
  expect_never_rises(folder_ / "run/log.jsonl", result.value()["start"]["objective"], 3);
  const Result again = run(folder_.path(), {"eval", "better.onnx", "--data", small_data, "--split", "train",
                                            "--delta", "delta.csv", "--json"});
  EXPECT_EQ(again.value()["objective"], result.value()["objective"]);
}

TEST_F(Refine, PrintsOneJsonObjectWithTheAgreedKeys) {
  const Result result = refine({"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json value = result.value();
  for (const char* key : {"updates", "rejected", "rises"}) EXPECT_TRUE(value.contains(key)) << key;
  for (const char* key : {"objective", "accuracy", "train_accuracy", "val_accuracy", "test_accuracy"}) {
    EXPECT_TRUE(value.contains(key)) << key;
    EXPECT_TRUE(value["start"].contains(key)) << key;
  }
}

TEST_F(Refine, SaysHowMuchDualStateItHadWithoutARunFolderToo) {
  const json alone = refine({"--json"}).value();
  EXPECT_GT(alone["dual_bytes"], 0);
  EXPECT_EQ(refine({"--json", "--run", "run"}).value()["dual_bytes"], alone["dual_bytes"]);
}

TEST_F(Refine, IsSilentOnStandardErrorWhenQuiet) {
  const Result result = refine({"-q"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_F(Refine, WritesBesideItsInputAndLeavesThatAlone) {
  const std::string before = read_file(folder_ / "base.onnx");
  ASSERT_EQ(refine({}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "base.refined.onnx"));
  EXPECT_EQ(read_file(folder_ / "base.onnx"), before);
  EXPECT_EQ(folder_.entries(), 2u);
}

TEST_F(Refine, NeverOverwritesItsInput) {
  const std::string before = read_file(folder_ / "base.onnx");
  fs::create_symlink("base.onnx", folder_ / "link.onnx");
  for (const char* output : {"base.onnx", "./base.onnx", "link.onnx"}) {
    const Result result = refine({"-o", output});
    EXPECT_EQ(result.exit_code, 2) << output;
    EXPECT_THAT(result.err, HasSubstr("would overwrite")) << output;
    EXPECT_EQ(read_file(folder_ / "base.onnx"), before) << output;
  }
}

TEST_F(Refine, EvalGivesTheSameObjectiveToTheBit) {
  const Result result = refine({"--json", "-o", "better.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Result again =
      run(folder_.path(), {"eval", "better.onnx", "--data", small_data, "--split", "train", "--json"});
  EXPECT_EQ(again.value()["objective"], result.value()["objective"]);
}

TEST_F(Refine, ValidatesOnWhatTheNetworkHasNotSeen) {
  ASSERT_EQ(run(folder_.path(), {"train", "--init", "base.onnx", "--data", small_data, "--val", "70",
                                 "--split-seed", "5", "--epochs", "1", "-o", "split.onnx"})
                .exit_code,
            0);
  const Result result = run(folder_.path(), {"refine", "split.onnx", "--data", small_data, "--passes", "0",
                                             "--json", "-o", "same.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* file : {"split.onnx", "same.onnx"}) {
    const json again =
        run(folder_.path(), {"eval", file, "--data", small_data, "--split", "val", "--json"}).value();
    EXPECT_EQ(again["samples"], 70);
    EXPECT_EQ(again["accuracy"], result.value()["val_accuracy"]);
  }
}

TEST_F(Refine, ChangesOnlyTheLayersAskedFor) {
  const Result result = refine({"--layers", "svm,dense1", "--run", "run", "--moves", "layers"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<std::string> layers;
  for (const auto& record : read_run_log(folder_ / "run/log.jsonl").records)
    if (record["type"] == "update") layers.push_back(record["layer"]);
  EXPECT_THAT(layers, testing::ElementsAre("svm", "dense1"));
  EXPECT_EQ(refine({"--layers", "d*1,s?m", "--json", "--moves", "layers"}).value()["updates"], 2)
      << "patterns as in a shell";
}

TEST(RefineTimeLimit, EndsInGoodOrder) {
  TemporaryFolder folder;
  const std::string data = "synthetic:n=3000,test=60,classes=6,size=16x16";
  make_network(folder.path(), "base.onnx", "conv12x5-relu-pool2-dense64-relu", data);
  const Result result = run(folder.path(), {"refine", "base.onnx", "--data", data, "--passes", "500", "--gap",
                                            "0.001", "--max-epochs", "100000", "--search", "full",
                                            "--time-limit", "2s", "--json", "-o", "better.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.value()["end"], "time is up");
  const Result again =
      run(folder.path(), {"eval", "better.onnx", "--data", data, "--split", "train", "--json"});
  if (!result.value().contains("judged_samples")) {  // as on a machine that is slow, or under the sanitizers
    EXPECT_EQ(again.value()["objective"], result.value()["objective"]);
  }
}

// One look at all samples would take longer than there is time for.
TEST(RefineTimeLimit, ShortOnesJudgeByAPartOfTheSamples) {
  TemporaryFolder folder;
  const std::string data = "synthetic:n=3000,test=60,classes=6,size=16x16";
  make_network(folder.path(), "base.onnx", "conv12x5-relu-pool2-dense64-relu", data);
  const Arguments refine{"refine", "base.onnx", "--data",      data,
                         "--json", "-o",        "better.onnx", "--time-limit"};
  const Result hasty = run(folder.path(), refine + Arguments{"10ms"});
  ASSERT_EQ(hasty.exit_code, 0) << hasty.err;
  const std::int64_t judged = hasty.value()["judged_samples"];  // how many depends on the machine
  EXPECT_GT(judged, 0);
  EXPECT_LT(judged, 2700);
  EXPECT_THAT(hasty.err,
              testing::HasSubstr("taken over " + format_count(judged) + " of 2,700 training samples"));
  EXPECT_FALSE(
      run(folder.path(), refine + Arguments{"10m", "--passes", "0"}).value().contains("judged_samples"));
}

// Two million weights and hardly any samples: what is asked of --memory must be counted where it goes.
TEST(RefineMemory, IsWhatInspectSays) {
#ifdef LWSVM_SANITIZED
  GTEST_SKIP() << "the sanitizers take memory of their own; the release build looks at it";
#endif
  TemporaryFolder folder;
  make_network(folder.path(), "base.onnx", "dense1500-relu-dense1500-relu");
  const Arguments refine{"refine",   "base.onnx",    "--data",    small_data, "--passes", "1",
                         "--moves",  "layers",       "--layers",  "dense2",   "--search", "full",
                         "--memory", "4M",           "--threads", "1",        "--run",    "run",
                         "--json",   "--max-epochs", "2"};
  const Result inspected =
      run(folder.path(), {"inspect", "base.onnx", "--samples", "270", "--memory", "4M", "--json"});
  const Result judged = run(folder.path(), {"eval", "base.onnx", "--data", small_data, "--threads", "1"});
  const Result refined = run(folder.path(), refine, checkpoint_often);
  ASSERT_EQ(refined.exit_code, 0) << refined.err;
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  double promised = 0;
  const json found = inspected.value();
  for (const json& layer : found["layers"])
    if (layer["name"] == "dense2") promised = layer["memory"]["total"];
  const double taken = refined.peak_memory - judged.peak_memory;
  RecordProperty("promised", std::to_string(promised));
  RecordProperty("taken", std::to_string(taken));
  EXPECT_GT(promised, 2e6 * 4);
  EXPECT_LT(taken, 1.15 * promised + 30e6);
}

TEST(RefineMemory, OfSweepsIsWhatInspectSays) {
#ifdef LWSVM_SANITIZED
  GTEST_SKIP() << "the sanitizers take memory of their own; the release build looks at it";
#endif
  TemporaryFolder folder;
  make_network(folder.path(), "base.onnx", "dense1500-relu-dense1500-relu");
  const Result inspected = run(folder.path(), {"inspect", "base.onnx", "--samples", "270", "--json"});
  const Result judged = run(folder.path(), {"eval", "base.onnx", "--data", small_data, "--threads", "1"});
  const Result refined = run(folder.path(), {"refine", "base.onnx", "--data", small_data, "--moves", "sweeps",
                                             "--passes", "1", "--threads", "1", "--json"});
  ASSERT_EQ(refined.exit_code, 0) << refined.err;
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  const double promised = inspected.value()["sweep_memory"];
  const double taken = refined.peak_memory - judged.peak_memory;
  RecordProperty("promised", std::to_string(promised));
  RecordProperty("taken", std::to_string(taken));
  EXPECT_LT(taken, promised + 30e6);
  EXPECT_GT(taken, 0.5 * promised);  // nor is it anything to be afraid of
}

TEST(RefineMemory, WithoutRoomForSweepsThereAreNone) {
  TemporaryFolder folder;
  make_network(folder.path());
  const auto refine = [&](const std::string& moves, const std::string& memory) {
    return run(folder.path(), {"refine", "base.onnx", "--data", small_data, "--passes", "2", "--moves", moves,
                               "--memory", memory, "--run", "run" + memory, "--json"});
  };
  const auto sweeps = [&](const std::string& memory) {
    const auto records = read_run_log(folder / ("run" + memory + "/log.jsonl")).records;
    return std::count_if(records.begin(), records.end(), [](const json& record) {
      return record["type"] == "update" && record["layer"] == "sweep";
    });
  };
  const Result roomy = refine("auto", "1G"), tight = refine("auto", "20K");
  ASSERT_EQ(tight.exit_code, 0) << tight.err;
  ASSERT_EQ(roomy.exit_code, 0) << roomy.err;
  EXPECT_GT(sweeps("1G"), 0);
  EXPECT_EQ(sweeps("20K"), 0);
  EXPECT_THAT(tight.err, testing::HasSubstr("sweeps over all layers at once are left out"));
  EXPECT_LT(tight.value()["objective"].get<double>(), tight.value()["start"]["objective"].get<double>());
  const Result refused = refine("sweeps", "20K");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, testing::HasSubstr("more than --memory 20.0 KiB"));
}

TEST(RefineLambda, AutoIsChosenByValidationAndRemembered) {
  TemporaryFolder folder;
  make_network(folder.path());
  const Result result = run(
      folder.path(), {"refine", "base.onnx", "--data", small_data, "--lambda", "auto", "--passes", "1",
                      "--layers", "svm", "--keep", "last", "--run", "run", "-o", "better.onnx", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const double lambda = result.value()["lambda"];
  EXPECT_GE(lambda, 1e-4);
  EXPECT_LE(lambda, 1);
  EXPECT_EQ(result.value()["rises"], 0);
  const Result eval =
      run(folder.path(), {"eval", "better.onnx", "--data", small_data, "--split", "train", "--json"});
  EXPECT_EQ(eval.value()["lambda"], lambda);
  EXPECT_NEAR(eval.value()["objective"].get<double>(), result.value()["objective"].get<double>(), 1e-9);
  const Result resumed = run(folder.path(), {"refine", "--resume", "run", "--json"});
  EXPECT_EQ(resumed.value()["lambda"], lambda);  // not searched again
}

TEST(RefineAugment, TransformedCopiesBelongToTheObjective) {
  TemporaryFolder folder;
  make_network(folder.path());
  const auto refine = [&](const std::string& name, const Arguments& more) {
    return run(folder.path(), Arguments{"refine", "base.onnx", "--data", small_data, "--passes", "1",
                                        "--keep", "last", "--run", name, "-o", name + ".onnx", "--json"} +
                                  more);
  };
  const Result plain = refine("plain", {}), flipped = refine("flipped", {"--augment", "flip"});
  ASSERT_EQ(flipped.exit_code, 0) << flipped.err;
  const auto samples = [&](const std::string& name) {
    return read_run_log(folder / (name + "/log.jsonl")).records.front()["train_samples"].get<int>();
  };
  EXPECT_EQ(samples("flipped"), 2 * samples("plain"));
  EXPECT_NE(flipped.value()["start"]["objective"], plain.value()["start"]["objective"]);
  EXPECT_LT(flipped.value()["objective"].get<double>(), flipped.value()["start"]["objective"].get<double>());
  EXPECT_EQ(flipped.value()["rises"], 0);
  EXPECT_FALSE(read_file(folder / "flipped.onnx") == read_file(folder / "plain.onnx"));
}

// What does not fit is computed again, to the same bits; a convolution takes smaller batches.
TEST(RefineMemory, ATightOneChangesTheTimeNotTheResult) {
  TemporaryFolder folder;
  make_network(folder.path());
  const auto refine = [&](const std::string& name, const Arguments& more) {
    return run(folder.path(),
               Arguments{"refine", "base.onnx", "--data", small_data, "--passes", "1", "--keep", "last",
                         "--moves", "layers", "--search", "labels", "-o", name + ".onnx", "--json"} +
                   more);
  };
  const Arguments dense{"--layers", "dense1,svm"};
  const Result roomy = refine("roomy", dense), tight = refine("tight", dense + Arguments{"--memory", "1K"});
  ASSERT_EQ(tight.exit_code, 0) << tight.err;
  EXPECT_THAT(tight.err, testing::HasSubstr("layer 'dense1' will take "));
  EXPECT_THAT(roomy.err, testing::Not(testing::HasSubstr("will take ")));
  EXPECT_EQ(tight.value()["objective"], roomy.value()["objective"]);
  EXPECT_TRUE(read_file(folder / "tight.onnx") == read_file(folder / "roomy.onnx"));
  const Result all = refine("all", {"--memory", "1K"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.value()["rises"], 0);
  EXPECT_LT(all.value()["objective"].get<double>(), all.value()["start"]["objective"].get<double>());
}

}  // namespace
}  // namespace lwsvm::cli
