// Runs from file to file through the public API: the same bits as in memory, and going on with one that was
// stopped.
#include "lwsvm/run_files.h"

#include <gmock/gmock.h>

#include <fstream>

#include "api/own_samples.h"
#include "base/atomic_file.h"
#include "lwsvm/adapt.h"
#include "lwsvm/error.h"
#include "lwsvm/evaluate.h"
#include "lwsvm/refine.h"
#include "lwsvm/svm.h"
#include "lwsvm/train.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kData = "synthetic:n=300,test=60,classes=3,size=8x8";

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class RunFilesTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string bytes(const std::string& name) const { return read_file(folder_ / name); }

  RunFiles files(const std::string& network, const std::string& output, const std::string& run = "") const {
    RunFiles files;
    if (!network.empty()) files.network = path(network);
    files.data.name = kData;
    files.output = path(output);
    if (!run.empty()) files.run_folder = path(run);
    return files;
  }

  void make_network() const { train(files("", "net.onnx"), {.arch = kSmallNet, .epochs = 2, .batch = 50}); }

  TemporaryFolder folder_;
};

TEST_F(RunFilesTest, TrainsAndRefinesToTheBitsOfARunInMemory) {
  const Data data = Data::load(kData);
  Network network;
  const TrainSettings training{.arch = kSmallNet, .epochs = 2, .batch = 50};
  train(network, data, training);
  EXPECT_EQ(train(files("", "net.onnx"), training).model, path("net.onnx"));
  EXPECT_TRUE(network.to_bytes() == bytes("net.onnx"));
  const RefineSettings refining{.passes = 1, .max_epochs = 5};
  const RefineSummary in_memory = refine(network, data, refining);
  const RefineSummary in_files = refine(files("net.onnx", "better.onnx"), refining);
  EXPECT_TRUE(network.to_bytes() == bytes("better.onnx"));
  EXPECT_EQ(in_memory.end.objective, in_files.end.objective);
  EXPECT_EQ(in_memory.full_report().empty(), in_files.full_report().empty());
}

TEST_F(RunFilesTest, AnSvmOfAFileIsThatOfItsSamples) {
  {
    std::ofstream file(path("train.svm"));
    file << "0 1:1 3:0.5\n1 2:1\n1 2:0.5 3:1\n0 1:0.25\n";
  }
  SvmFiles from{.train = path("train.svm"), .output = path("svm.onnx")};
  const SvmSummary by_file = train_svm(from, {.gap = 1e-6});
  Network network;
  const SvmSummary by_rows = train_svm(network,
                                       {.features = 3,
                                        .row_begin = {0, 2, 3, 5, 6},
                                        .columns = {0, 2, 1, 1, 2, 0},
                                        .values = {1, 0.5f, 1, 0.5f, 1, 0.25f},
                                        .labels = {0, 1, 1, 0}},
                                       {.gap = 1e-6});
  EXPECT_EQ(by_file.objective, by_rows.objective);
  EXPECT_EQ(Network::load(by_file.model).weights("svm"), network.weights("svm"));
}

TEST_F(RunFilesTest, TrainingGoesOnToTheSameBits) {
  TrainSettings settings{.arch = kSmallNet, .epochs = 3, .batch = 50};
  train(files("", "whole.onnx", "whole"), settings);
  settings.on_progress = [](const TrainProgress& now) {
    EXPECT_EQ(now.epochs, 3);
    return now.epoch < 2 || now.samples_done < now.samples / 2;
  };
  EXPECT_FALSE(train(files("", "stopped.onnx", "stopped"), settings).finished);
  EXPECT_FALSE(bytes("stopped.onnx") == bytes("whole.onnx"));
  const TrainSummary resumed = resume_train(path("stopped"));
  EXPECT_TRUE(resumed.finished);
  EXPECT_EQ(resumed.model, path("stopped.onnx"));
  EXPECT_TRUE(bytes("stopped.onnx") == bytes("whole.onnx"));
}

TEST_F(RunFilesTest, RefiningGoesOnToTheSameBits) {
  make_network();
  RefineSettings settings{.moves = "layers", .passes = 2, .max_epochs = 5, .keep = "last"};
  const RefineSummary whole = refine(files("net.onnx", "whole.onnx", "whole"), settings);
  int moves = 0;
  settings.on_update = [&](const RefineUpdate&) { return ++moves < 2; };
  EXPECT_FALSE(refine(files("net.onnx", "stopped.onnx", "stopped"), settings).finished);
  const RefineSummary resumed = resume_refine(path("stopped"));
  EXPECT_TRUE(resumed.finished);
  EXPECT_EQ(resumed.moves, whole.moves);
  EXPECT_EQ(std::ssize(resumed.updates), whole.moves - moves);
  EXPECT_EQ(resumed.start.objective, whole.start.objective);
  EXPECT_TRUE(bytes("stopped.onnx") == bytes("whole.onnx"));
}

TEST_F(RunFilesTest, AdaptingGoesOnToTheSameBits) {
  make_network();
  const auto with = [&](const char* output, const char* run) {
    RunFiles files = this->files("net.onnx", output, run);
    files.data.name = "synthetic:n=300,test=60,classes=4,size=8x8";
    return files;
  };
  AdaptSettings settings{.depth = "all", .cache_limit = 0, .batch = 50};
  settings.lambda = 1e-3;
  const AdaptSummary whole = adapt(with("whole.onnx", "whole"), settings);
  ASSERT_GT(whole.moves, 1);
  settings.on_update = [](const RefineUpdate&) { return false; };
  EXPECT_FALSE(adapt(with("stopped.onnx", "stopped"), settings).finished);
  AdaptSettings uncached;
  uncached.cache_limit = 0;
  EXPECT_TRUE(resume_adapt(path("stopped"), uncached).finished);
  EXPECT_TRUE(bytes("stopped.onnx") == bytes("whole.onnx"));
}

TEST_F(RunFilesTest, AResumedRunTakesWhatMayChangeAndRefusesTheRestByName) {
  make_network();
  RefineSettings settings{.passes = 1, .max_epochs = 5, .batch = 50};
  refine(files("net.onnx", "out.onnx", "run"), settings);
  const auto resumed = [&](const RefineSettings& again, const GivenAnew& given, const RunFiles& to = {}) {
    return error_of([&] { resume_refine(path("run"), again, given, to); });
  };
  const std::string refused = resumed({.gap = 0.1, .batch = 60}, {"--gap", "--batch"});
  EXPECT_THAT(refused, AllOf(HasSubstr("--gap (which is 0.4 there)"), HasSubstr("--batch (which is 50"),
                             HasSubstr("may be given anew: --passes")));
  EXPECT_EQ(resumed({.batch = 50}, {"--batch"}), "");     // as it was
  EXPECT_EQ(resumed({.gap = 0.1, .batch = 60}, {}), "");  // not meant
  EXPECT_THAT(resumed({}, {"--normalize"}), HasSubstr("--normalize"));
  EXPECT_EQ(resumed({.passes = 3}, {"--passes", "--output"}, {.output = path("other.onnx")}), "");
  EXPECT_FALSE(bytes("other.onnx").empty());
  EXPECT_THAT(error_of([&] { resume_refine(""); }), HasSubstr("name of its folder is empty"));
  EXPECT_THAT(error_of([&] { resume_train(path("run")); }), HasSubstr("not a run of"));
  EXPECT_THAT(error_of([&] { resume_refine(path("nowhere")); }), HasSubstr("no checkpoint"));
}

TEST_F(RunFilesTest, ARunKeepsItsMargins) {
  make_network();
  RefineSettings settings{.passes = 1, .max_epochs = 5};
  settings.task.margins = {0, 2, 2, 2, 0, 2, 2, 2, 0};
  const RefineSummary doubled = refine(files("net.onnx", "out.onnx", "run"), settings);
  EXPECT_EQ(resume_refine(path("run")).end.objective, doubled.end.objective);
  {
    std::ofstream file(path("margins.csv"));
    file << "0,2,2\n2,0,2\n2,2,0\n";
  }
  settings.task.margins.clear();
  RunFiles by_file = files("net.onnx", "by_file.onnx");
  by_file.data.margins = path("margins.csv");
  EXPECT_EQ(refine(by_file, settings).end.objective, doubled.end.objective);
  EXPECT_EQ(load_margins(path("margins.csv"), 3), (std::vector<float>{0, 2, 2, 2, 0, 2, 2, 2, 0}));
}

TEST_F(RunFilesTest, AnOutputThatCannotBeWrittenIsFoundBeforeTheWork) {
  make_network();
  bool worked = false;
  RefineSettings settings{.passes = 1};
  settings.on_progress = [&](const RefineProgress&) { return worked = true; };
  EXPECT_THAT(error_of([&] { refine(files("net.onnx", "no/such/folder.onnx"), settings); }),
              HasSubstr("there is no folder"));
  EXPECT_THAT(error_of([&] { refine(files("net.onnx", "net.onnx"), settings); }),
              HasSubstr("would overwrite the network"));
  EXPECT_FALSE(worked);
}

TEST_F(RunFilesTest, EventsAddUp) {
  make_network();
  for (const char* moves : {"layers", "sweeps"}) {
    const bool sweeps = std::string(moves) == "sweeps";
    int begun = 0, passes = 0, trials = 0;
    std::vector<RefineUpdate> updates;
    RefineSettings settings{.moves = moves, .passes = 2, .max_epochs = 5};
    settings.on_progress = [&](const RefineProgress& now) {
      begun += now.begins;
      EXPECT_EQ(now.layer == "sweep", sweeps);
      EXPECT_LE(now.fraction, 1);
      EXPECT_LE(now.epoch, now.max_epochs);
      return true;
    };
    settings.on_update = [&](const RefineUpdate& update) {
      updates.push_back(update);
      EXPECT_EQ(update.form == "sweep", sweeps);
      EXPECT_EQ(update.radius > 0, sweeps);
      EXPECT_GT(update.epochs, 0);
      return true;
    };
    settings.on_pass = [&](const RefinePass& pass) {
      ++passes;
      EXPECT_EQ(pass.objective, updates.back().after);
      return true;
    };
    settings.on_trial = [&](const RadiusTrial& trial) {
      ++trials;
      EXPECT_GT(trial.radius, 0);
    };
    const RefineSummary summary = refine(files("net.onnx", "out.onnx"), settings);
    EXPECT_EQ(begun, std::ssize(updates)) << moves;
    EXPECT_EQ(trials > 0, sweeps);
    if (!sweeps) {
      EXPECT_EQ(passes, summary.passes);
    }
  }
}

TEST(Units, NumbersAndTextsAreTheSame) {
  EXPECT_EQ(TimeSpan().text(), "");
  EXPECT_EQ(TimeSpan(0).text(), "");
  EXPECT_EQ(parse_seconds(TimeSpan(90).text(), "t"), parse_seconds(TimeSpan("1m30s").text(), "t"));
  EXPECT_GT(parse_seconds(TimeSpan(1e-9).text(), "t"), 0);  // 0 is no limit
  EXPECT_EQ(parse_size(ByteCount(std::uint64_t{4} << 30).text(), "m"),
            parse_size(ByteCount("4G").text(), "m"));
  EXPECT_THAT(error_of([] { parse_seconds(TimeSpan(-1).text(), "time-limit"); }), HasSubstr("time-limit"));
  EXPECT_EQ(parse_list("0.5,1", "--mean"), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(parse_lambda("1e-4", "refine"), 1e-4);
  EXPECT_EQ(parse_lambda("auto", "refine"), std::nullopt);
  EXPECT_THAT(error_of([] { parse_lambda("-1", "refine"); }), HasSubstr("positive"));
  PhotoSettings photos;
  set_crop(photos, "192x256");
  EXPECT_EQ(photos.crop_height, 192);
  EXPECT_EQ(photos.crop_width, 256);
  EXPECT_NE(error_of([&] { set_crop(photos, "x"); }), "");
}

}  // namespace
}  // namespace lwsvm
