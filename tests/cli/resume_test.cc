// A run that was killed or stopped goes on to the same bits.
#include <gmock/gmock.h>

#include <random>

#include "cli/foreign_files.h"
#include "cli/program.h"
#include "report/run_log.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using testing::HasSubstr;

// What a log says, without the times.
std::vector<std::string> story(const fs::path& folder) {
  std::vector<std::string> lines;
  for (nlohmann::ordered_json record : read_run_log(folder / "log.jsonl").records) {
    if (record["type"] == "run") record.erase("settings");  // names the output
    for (const char* key :
         {"seconds", "samples_per_second", "model", "feature_seconds", "feature_samples", "head_seconds"})
      record.erase(key);
    lines.push_back(record.dump());
  }
  return lines;
}

// A command, and its uninterrupted run in folder/whole.
class Resume : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string data = "synthetic:n=600,test=60,classes=4,size=8x8";
    command_ = GetParam();
    if (command_ == "train") {
      arguments_ = {"train",    "--data", data,      "--arch", "conv4x3-bn-relu-pool2-dense8-relu-dropout0.2",
                    "--epochs", "4",      "--batch", "20"};
    } else if (command_ == "train, float16" || command_ == "train, bfloat16") {
      half_precision_file(command_ == "train, float16" ? onnx::TensorProto::FLOAT16
                                                       : onnx::TensorProto::BFLOAT16);
      arguments_ = {"train", "--data",      data,  "--init",  "half.onnx", "--epochs",
                    "4",     "--normalize", "0-1", "--batch", "20"};
      command_ = "train";
    } else if (command_ == "adapt") {
      make_network(folder_.path(), "base.onnx", small_net, "synthetic:n=300,classes=3,size=8x8");
      arguments_ = {"adapt", "base.onnx", "--data",  data, "--depth", "all",
                    "--val", "100",       "--batch", "50", "--cache", (folder_ / "cache").string()};
    } else {
      make_network(folder_.path(), "base.onnx", small_net, data);
      arguments_ = {"refine",  "base.onnx", "--data",       data, "--passes", "2",
                    "--batch", "50",        "--max-epochs", "8",  "--keep",   "last"};
      if (command_ == "refine") arguments_ = arguments_ + Arguments{"--moves", "layers"};
      if (command_ == "refine, centred") arguments_ = arguments_ + Arguments{"--centre", "start"};
      if (command_ == "refine, sweeps") arguments_ = arguments_ + Arguments{"--moves", "sweeps"};
      command_ = "refine";
    }
    const auto begin = Clock::now();
    const Result result = run(folder_.path(), start("whole"), checkpoint_often);
    length_ = std::chrono::duration<double>(Clock::now() - begin).count();
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  // Weights of two bytes, which round what training has come to.
  void half_precision_file(int type) {
    File file({1, 1, 8, 8}, 13, {1, 4});
    file.model().set_producer_name("pytorch");
    for (const auto& [name, dims] : {std::pair<const char*, Shape>{"w", {4, 64}}, {"b", {4}}}) {
      convert(file.floats(name, dims, small_weights(dims, 1)), type, true);
      File::set(file.node("Cast", {name}, std::string(name) + "32"), "to", int{onnx::TensorProto::FLOAT});
    }
    file.node("Flatten", {"x"}, "f");
    File::set(file.node("Gemm", {"f", "w32", "b32"}), "transB", 1);
    save(file.model(), folder_ / "half.onnx");
  }

  Arguments start(const std::string& name) const {
    return arguments_ + Arguments{"--run", name, "-o", name + ".onnx", "--threads", "1"};
  }
  Arguments resume(const std::string& name) const {
    Arguments arguments{command_, "--resume", name, "--threads", "1"};
    if (command_ == "adapt") arguments = arguments + Arguments{"--cache", (folder_ / "cache").string()};
    return arguments;
  }

  // There is a checkpoint, and a network that can be written.
  void wait_for_checkpoint(const std::string& name) {
    const auto latest = Clock::now() + std::chrono::seconds(60);
    const std::string sign = command_ == "adapt" ? "/head.onnx" : "/checkpoint.bin";
    while (!fs::exists(folder_ / (name + sign)) && Clock::now() < latest)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void expect_like_whole(const std::string& name) {
    EXPECT_TRUE(read_file(folder_ / (name + ".onnx")) == read_file(folder_ / "whole.onnx"))
        << "the networks differ";
    EXPECT_EQ(story(folder_ / name), story(folder_ / "whole"));
  }

  void stop_and_resume(int signal, int exit_code) {
    Process process(folder_.path(), start("stopped"), checkpoint_always);
    wait_for_checkpoint("stopped");
    process.send(signal);
    const Result stopped = process.wait();
    ASSERT_EQ(stopped.exit_code, exit_code) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("--resume stopped"));
    EXPECT_EQ(run(folder_.path(), {"inspect", "stopped.onnx"}).exit_code, 0);  // it is whole
    const TemporaryFolder elsewhere;  // relative paths mean what they meant where the run was begun
    const Result resumed = run(elsewhere.path(), resume((folder_ / "stopped").string()));
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(elsewhere.entries(), 0u);
    expect_like_whole("stopped");
  }

  TemporaryFolder folder_;
  std::string command_;
  Arguments arguments_;
  double length_ = 0;  // seconds of the uninterrupted run
};

TEST_P(Resume, AfterKillsAtRandomMomentsGivesTheSameBits) {
  std::mt19937 random(static_cast<unsigned>(command_.size()));
  for (int round = 0; round < 2; ++round) {
    const std::string name = "killed" + std::to_string(round);
    for (int kill = 0; kill < 3; ++kill) {
      const double delay = length_ * std::uniform_real_distribution(0.05, 0.5)(random);
      const bool begun = fs::exists(folder_ / (name + "/checkpoint.bin"));
      Process process(folder_.path(), begun ? resume(name) : start(name), checkpoint_often);
      std::this_thread::sleep_for(std::chrono::duration<double>(delay));
      process.send(SIGKILL);
      process.wait();
      if (fs::exists(folder_ / (name + ".onnx"))) {
        EXPECT_EQ(run(folder_.path(), {"inspect", name + ".onnx"}).exit_code, 0);
      }
    }
    const bool begun = fs::exists(folder_ / (name + "/checkpoint.bin"));
    const Result result = run(folder_.path(), begun ? resume(name) : start(name));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    expect_like_whole(name);
  }
}

TEST_P(Resume, AfterSigtermGivesTheSameBits) {
  stop_and_resume(SIGTERM, 143);
}

TEST_P(Resume, AfterCtrlCGivesTheSameBits) {
  stop_and_resume(SIGINT, 130);
}

TEST_P(Resume, OfAFinishedRunChangesNothing) {
  const std::string before = read_file(folder_ / "whole.onnx");
  const auto told = story(folder_ / "whole");
  fs::remove(folder_ / "whole.onnx");  // as if killed just before it was written
  const Result result = run(folder_.path(), resume("whole"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(read_file(folder_ / "whole.onnx") == before);
  EXPECT_EQ(story(folder_ / "whole"), told);
}

TEST_P(Resume, ReportsWhatTheUninterruptedRunDoes) {
  const Result plain = run(folder_.path(), arguments_ + Arguments{"-o", "plain.onnx", "--json"});
  const Result result = run(folder_.path(), resume("whole") + Arguments{"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  json expected = plain.value(), found = result.value();
  for (const char* key : {"seconds", "model", "feature_seconds", "feature_samples", "head_seconds"}) {
    expected.erase(key);
    found.erase(key);
  }
  EXPECT_EQ(found, expected);
}

TEST_P(Resume, LogEndsWithWhatJsonSays) {
  const auto last = [&](const std::string& name) {
    return json(read_run_log(folder_ / (name + "/log.jsonl")).records.back());
  };
  json expected = run(folder_.path(), resume("whole") + Arguments{"--json"}).value();
  expected["type"] = "end";
  EXPECT_EQ(last("whole"), expected);

  Process process(folder_.path(), start("stopped"), checkpoint_always);
  wait_for_checkpoint("stopped");
  process.send(SIGTERM);
  ASSERT_EQ(process.wait().exit_code, 143);
  EXPECT_NE(last("stopped")["type"], "end");
}

INSTANTIATE_TEST_SUITE_P(Commands, Resume,
                         testing::Values("train", "train, float16", "train, bfloat16", "refine",
                                         "refine, centred", "refine, sweeps", "adapt"));

TEST(ResumedRefine, StaysWhereItEndedByItself) {
  TemporaryFolder folder;
  make_network(folder.path());
  const Result whole =
      run(folder.path(), {"refine", "base.onnx", "--data", small_data, "--passes", "200", "--patience", "2",
                          "--max-epochs", "10", "--run", "run", "-o", "better.onnx", "--json"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  ASSERT_NE(whole.value()["end"], "all passes done");
  const std::string before = read_file(folder / "better.onnx");
  const Result again = run(folder.path(), {"refine", "--resume", "run", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  nlohmann::json first = whole.value(), second = again.value();
  first.erase("seconds");  // of the command
  second.erase("seconds");
  EXPECT_EQ(first, second);
  EXPECT_TRUE(read_file(folder / "better.onnx") == before);
}

TEST(StoppedRefine, KeepsWhatItGainedWithinThePass) {
  TemporaryFolder folder;
  const std::string data = "synthetic:n=1000,test=60,classes=4,size=12x12";
  make_network(folder.path(), "base.onnx", "conv12x5-relu-pool2-dense64-relu", data);
  Process process(folder.path(), {"refine", "base.onnx", "--data", data, "--val", "0", "--search", "full",
                                  "--gap", "0.0001", "--max-epochs", "100000", "--run", "run", "-o",
                                  "better.onnx", "--json", "--moves", "layers"});
  const auto latest = Clock::now() + std::chrono::seconds(60);
  double objective = -1;
  while (objective < 0 && Clock::now() < latest) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (fs::exists(folder / "run/log.jsonl"))
      for (const auto& record : read_run_log(folder / "run/log.jsonl").records)
        if (record["type"] == "update") objective = record["objective"];
  }
  process.send(SIGTERM);
  const Result stopped = process.wait();
  ASSERT_EQ(stopped.exit_code, 143) << stopped.err;
  EXPECT_EQ(stopped.value()["passes"], 0);
  EXPECT_EQ(stopped.value()["objective"], objective);
  EXPECT_LT(objective, stopped.value()["start"]["objective"]);
}

TEST(ResumedLog, HoldsEveryEpochOnce) {
  TemporaryFolder folder;
  Process process(folder.path(),
                  {"train", "--data", small_data, "--arch", small_net, "--epochs", "6", "--batch", "10",
                   "--run", "run", "-o", "net.onnx"},
                  checkpoint_always);
  const auto latest = Clock::now() + std::chrono::seconds(60);
  const auto epochs = [&] {
    std::vector<int> found;
    if (fs::exists(folder / "run/log.jsonl"))
      for (const auto& record : read_run_log(folder / "run/log.jsonl").records)
        if (record["type"] == "epoch") found.push_back(record["epoch"]);
    return found;
  };
  while (epochs().empty() && Clock::now() < latest) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  process.send(SIGKILL);
  process.wait();
  ASSERT_EQ(run(folder.path(), {"train", "--resume", "run"}).exit_code, 0);
  EXPECT_THAT(epochs(), testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

// Dropout and batch norm: everything that a run has to carry over.
const Arguments train_with_chance{"train",
                                  "--data",
                                  "synthetic:n=300,test=60,classes=3,size=8x8",
                                  "--arch",
                                  "conv4x3-bn-relu-pool2-dense8-relu-dropout0.2",
                                  "--batch",
                                  "20",
                                  "--threads",
                                  "1"};

TEST(ExtendedTrain, GivesTheBitsOfARunOfThatLength) {
  TemporaryFolder folder;
  const auto train = [&](const Arguments& more) {
    const Result result = run(folder.path(), more);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  };
  train(train_with_chance + Arguments{"--epochs", "7", "--run", "long"});
  train(train_with_chance + Arguments{"--epochs", "3", "--run", "short"});
  const std::string three = read_file(folder / "short/model.onnx");
  train({"train", "--resume", "short", "--epochs", "7", "--eval-every", "2", "-o", "more.onnx"});
  EXPECT_TRUE(read_file(folder / "more.onnx") == read_file(folder / "long/model.onnx"));
  EXPECT_TRUE(read_file(folder / "short/model.onnx") == three);

  std::vector<int> epochs, evaluated;
  int ends = 0;
  for (const auto& record : read_run_log(folder / "short/log.jsonl").records) {
    if (record["type"] == "epoch") epochs.push_back(record["epoch"]);
    if (record["type"] == "epoch" && record.contains("objective")) evaluated.push_back(record["epoch"]);
    ends += record["type"] == "end";
  }
  EXPECT_THAT(epochs, testing::ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(evaluated, testing::ElementsAre(1, 2, 3, 4, 6, 7));
  EXPECT_EQ(ends, 1);
}

TEST(ExtendedTrain, RemembersItsNewLength) {
  TemporaryFolder folder;
  ASSERT_EQ(run(folder.path(), train_with_chance + Arguments{"--epochs", "6", "--run", "long"}).exit_code, 0);
  ASSERT_EQ(run(folder.path(), train_with_chance + Arguments{"--epochs", "1", "--run", "run"}).exit_code, 0);
  Process process(folder.path(), {"train", "--resume", "run", "--epochs", "6", "--threads", "1"},
                  checkpoint_always);
  const auto latest = Clock::now() + std::chrono::seconds(60);
  while (read_file(folder / "run/log.jsonl").find("\"epoch\":2") == std::string::npos &&
         Clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  process.send(SIGTERM);
  process.wait();
  ASSERT_EQ(run(folder.path(), {"train", "--resume", "run"}).exit_code, 0);
  EXPECT_TRUE(read_file(folder / "run/model.onnx") == read_file(folder / "long/model.onnx"));
}

TEST(ExtendedTrain, CannotBeShorterThanWhatIsDone) {
  TemporaryFolder folder;
  ASSERT_EQ(run(folder.path(), train_with_chance + Arguments{"--epochs", "3", "--run", "run"}).exit_code, 0);
  const std::string log = read_file(folder / "run/log.jsonl");
  const Result result = run(folder.path(), {"train", "--resume", "run", "--epochs", "2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--epochs 2 is less than the 3 that the run has done"));
  EXPECT_EQ(read_file(folder / "run/log.jsonl"), log);
}

TEST(ResumedOptions, ThatContradictTheRunAreRefusedByName) {
  TemporaryFolder folder;
  make_network(folder.path());
  const Arguments train{"train", "--data", small_data, "--arch", small_net, "--epochs", "1", "--lr", "0.01"};
  const Arguments refine{"refine", "base.onnx", "--data", small_data, "--passes", "1", "--lambda", "1e-4"};
  ASSERT_EQ(run(folder.path(), train + Arguments{"--run", "train"}).exit_code, 0);
  ASSERT_EQ(run(folder.path(), refine + Arguments{"--run", "refine"}).exit_code, 0);
  const auto refused = [&](const std::string& command, const Arguments& more, const std::string& complaint) {
    const Result result = run(folder.path(), Arguments{command, "--resume", command} + more);
    EXPECT_EQ(result.exit_code, 2) << complaint;
    EXPECT_THAT(result.err, HasSubstr(complaint));
  };
  refused("train", {"--data", "synthetic:n=400,test=60,classes=3,size=8x8"},
          "cannot change --data (which is");
  refused("train", {"--lr", "0.02", "--batch", "7"}, "--lr (which is 0.01 there), --batch (which is");
  refused("train", {"--arch", "dense8-relu"}, "--arch");
  refused("train", {"--normalize", "0-1"}, "--normalize");
  refused("refine", {"--data", "synthetic:n=400,test=60,classes=3,size=8x8"}, "--data");
  refused("refine", {"--gap", "0.3"}, "--gap (which is 0.4 there)");
  refused("refine", {"other.onnx"}, "network (which is \"base.onnx\" there)");
  refused("refine", {"--memory", "1G"}, "--memory");
  refused("refine", {"--mu", "1"}, "--mu (which is not given there)");
  refused("refine", {"--centre", "zero"}, "--centre (which is not given there)");
  // What is as it was may be said again.
  const Result train_again = run(folder.path(), train + Arguments{"--resume", "train"});
  EXPECT_EQ(train_again.exit_code, 0) << train_again.err;
  const Result refine_again = run(folder.path(), refine + Arguments{"--resume", "refine"});
  EXPECT_EQ(refine_again.exit_code, 0) << refine_again.err;
}

TEST(ResumedOptions, MorePassesGoOn) {
  TemporaryFolder folder;
  make_network(folder.path());
  const Arguments refine{"refine", "base.onnx", "--data", small_data,  "--moves",
                         "layers", "--keep",    "last",   "--json",    "--max-epochs",
                         "5",      "--lambda",  "1e-4",   "--threads", "1"};
  const Result one = run(folder.path(), refine + Arguments{"--passes", "1", "--run", "run"});
  const Result more = run(folder.path(), {"refine", "--resume", "run", "--passes", "2", "--json"});
  const Result two = run(folder.path(), refine + Arguments{"--passes", "2", "-o", "two.onnx"});
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(one.value()["passes"], 1);
  EXPECT_EQ(more.value()["passes"], 2);
  EXPECT_EQ(more.value()["objective"], two.value()["objective"]);
  EXPECT_THAT(read_file(folder / "run/log.jsonl"), HasSubstr("\"resume\""));
}

TEST(ResumedOptions, AnEmptyFolderNameIsNoFolder) {
  TemporaryFolder folder;
  for (const char* command : {"train", "refine"}) {
    const Result result = run(folder.path(), {command, "--resume", ""});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("--resume"));
  }
  EXPECT_EQ(folder.entries(), 0u);
}

// MNIST's files, of twenty images.
void write_images(const fs::path& folder, char pixel) {
  fs::create_directories(folder);
  const std::string count("\0\0\0\x14", 4), side("\0\0\0\x1c", 4);
  std::string pixels(20 * 784, pixel), labels;
  for (int i = 0; i < 20; ++i) {
    labels += static_cast<char>(i % 10);
    pixels[static_cast<std::size_t>(i * 784 + i % 10)] = '\0';
  }
  const std::string kind("\0\0\x08", 3);
  for (const char* part : {"train", "t10k"}) {
    write_file_atomically(folder / (std::string(part) + "-images-idx3-ubyte"),
                          kind + '\3' + count + side + side + pixels);
    write_file_atomically(folder / (std::string(part) + "-labels-idx1-ubyte"), kind + '\1' + count + labels);
  }
}

TEST(ResumedData, MustBeThoseOfTheRun) {
  TemporaryFolder folder;
  write_images(folder / "data", 'x');
  const auto well = [&](const Arguments& arguments) {
    const Result result = run(folder.path(), arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  };
  well({"train", "--data", "data", "--val", "0", "--arch", "dense4-relu", "--epochs", "1", "--run", "run"});
  well({"refine", "run/model.onnx", "--data", "data", "--val", "0", "--passes", "1", "--run", "refined",
        "--anyway"});
  well({"train", "--resume", "run", "--epochs", "2"});
  write_images(folder / "data", 'y');
  for (const auto& [command, name] : {std::pair("train", "run"), std::pair("refine", "refined")}) {
    const Result result = run(folder.path(), {command, "--resume", name});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("is not the one that the run began with"));
  }
}

TEST(ResumedData, ARelativeDataDirIsMeantFromWhereTheUserIs) {
  TemporaryFolder folder;
  write_images(folder / "sets" / "fashion-mnist", 'x');
  fs::create_directories(folder / "begun");
  const Result begun =
      run(folder / "begun", {"train", "--data", "fashion-mnist", "--data-dir", "../sets", "--arch",
                             "dense4-relu", "--val", "0", "--epochs", "1", "--run", "run"});
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  fs::rename(folder / "sets", folder / "elsewhere");
  const Result resumed =
      run(folder.path(), {"train", "--resume", "begun/run", "--data-dir", "elsewhere", "--epochs", "2"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST(ResumedRefine, NeedsItsInputNoMore) {
  TemporaryFolder folder;
  make_network(folder.path());
  ASSERT_EQ(run(folder.path(), {"refine", "base.onnx", "--data", small_data, "--passes", "1", "--run", "run"})
                .exit_code,
            0);
  fs::remove(folder / "base.onnx");
  const Result result = run(folder.path(), {"refine", "--resume", "run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace lwsvm::cli
