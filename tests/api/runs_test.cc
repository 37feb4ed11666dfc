// Training, refining and judging through the public API.
#include <gmock/gmock.h>

#include <algorithm>

#include "api/own_samples.h"
#include "cli/program.h"
#include "lwsvm/error.h"
#include "lwsvm/evaluate.h"
#include "lwsvm/refine.h"
#include "lwsvm/svm.h"
#include "lwsvm/train.h"

namespace lwsvm {
namespace {

using testing::HasSubstr;

const RefineSettings kFewMoves{.passes = 2, .max_epochs = 10};

class Api : public testing::Test {
 protected:
  Api() { train(network_, data_, {.arch = kSmallNet, .epochs = 3, .batch = 20}); }

  double objective(const Network& network) const {
    EvaluateSettings settings;
    settings.part = "train";
    return evaluate(network, data_, settings).objective;
  }

  Data data_ = bars();
  Network network_;
};

TEST_F(Api, RefineLowersTheObjectiveOfTheNetworkThatItGivesBack) {
  const double before = objective(network_);
  const RefineSummary summary = refine(network_, data_, kFewMoves);
  EXPECT_NEAR(summary.start.objective, before, 1e-9);
  EXPECT_LT(summary.end.objective, before);
  EXPECT_NEAR(objective(network_), summary.end.objective, 1e-9);
  EXPECT_EQ(summary.rises, 0);
  EXPECT_TRUE(summary.finished);
  EXPECT_FALSE(summary.reason.empty());
}

TEST_F(Api, RefineTellsEveryUpdate) {
  std::vector<RefineUpdate> told;
  int progress = 0;
  RefineSettings settings = kFewMoves;
  settings.on_update = [&](const RefineUpdate& update) {
    told.push_back(update);
    return true;
  };
  settings.on_progress = [&](const RefineProgress&) {
    ++progress;
    return true;
  };
  const RefineSummary summary = refine(network_, data_, settings);
  ASSERT_FALSE(told.empty());
  EXPECT_GT(progress, std::ssize(told));
  ASSERT_EQ(summary.updates.size(), told.size());
  EXPECT_EQ(summary.moves, std::ssize(told));
  EXPECT_EQ(summary.rejected, std::ranges::count(told, false, &RefineUpdate::accepted));
  EXPECT_NEAR(told.front().before, summary.start.objective, 1e-9);
  const std::string report = summary.full_report();
  EXPECT_THAT(report, HasSubstr(to_string(summary.start)));
  EXPECT_THAT(report, HasSubstr(to_string(summary.end)));
  EXPECT_THAT(report, HasSubstr(summary.reason));
  for (const RefineUpdate& update : told) EXPECT_THAT(report, HasSubstr(update.reason));
}

TEST_F(Api, RefineStopsWhenAskedToAndKeepsWhatItHas) {
  RefineSettings settings = kFewMoves;
  settings.moves = "layers";
  settings.keep = "last";
  settings.on_update = [](const RefineUpdate&) { return false; };
  const RefineSummary summary = refine(network_, data_, settings);
  EXPECT_FALSE(summary.finished);
  ASSERT_EQ(summary.updates.size(), 1u);
  EXPECT_NEAR(objective(network_), summary.updates[0].after, 1e-9);
}

TEST_F(Api, RefineKeepsItsTimeLimit) {
  RefineSettings settings;
  settings.passes = 100000;
  settings.time_limit = 1e-4;
  const RefineSummary summary = refine(network_, data_, settings);
  EXPECT_EQ(summary.reason, "time is up") << summary.full_report();
  EXPECT_FALSE(summary.time_limit.empty());
}

TEST_F(Api, TrainStopsWhenAskedTo) {
  const TrainSummary by_epoch =
      train(network_, data_, {.epochs = 9, .on_epoch = [](const TrainEpoch& e) { return e.epoch < 2; }});
  EXPECT_FALSE(by_epoch.finished);
  EXPECT_EQ(by_epoch.epochs, 2);
  const TrainSummary by_batch = train(
      network_, data_,
      {.epochs = 9, .batch = 20, .on_progress = [](const TrainProgress& p) { return p.samples_done < 40; }});
  EXPECT_FALSE(by_batch.finished);
  EXPECT_EQ(by_batch.epochs, 0);
}

TEST_F(Api, ChangesOneNetworkAndNotItsCopies) {
  const Network before = network_;
  const double objective_before = objective(before);
  refine(network_, data_, kFewMoves);
  EXPECT_EQ(objective(before), objective_before);
  EXPECT_LT(objective(network_), objective_before);
}

TEST_F(Api, LeavesTheNetworkAsItWasWhereItThrows) {
  const double before = objective(network_);
  const Data other = Data::load("synthetic:n=60,test=10,classes=3,size=8x8");
  EXPECT_THROW(refine(network_, other), Error);
  EXPECT_THROW(train(network_, other), Error);
  EXPECT_THROW(evaluate(network_, other), Error);
  EXPECT_THROW(refine(network_, data_, {.moves = "sideways"}), Error);
  EXPECT_EQ(objective(network_), before);
}

TEST_F(Api, IsSilentUnlessSomebodyListens) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  refine(network_, data_, kFewMoves);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  std::string heard;
  RefineSettings settings = kFewMoves;
  settings.on_message = [&](const std::string& text) { heard += text + "\n"; };
  const RefineSummary summary = refine(network_, data_, settings);
  EXPECT_THAT(heard, HasSubstr("start: " + to_string(summary.start)));
}

TEST_F(Api, ScoresAreWhatIsJudged) {
  const std::vector<float> all = scores(network_, data_);
  const Bars test(60, 2);
  ASSERT_EQ(all.size(), 60u * 3);
  int correct = 0;
  for (std::int64_t i = 0; i < 60; ++i) {
    const auto row = all.begin() + i * 3;
    correct += std::max_element(row, row + 3) - row == test.label(i);
  }
  EXPECT_EQ(evaluate(network_, data_).correct, correct);
}

TEST_F(Api, MarginsCount) {
  EvaluateSettings settings;
  settings.lambda = 0;
  const double loss = evaluate(network_, data_, settings).loss;
  settings.task.margins = {0, 2, 2, 2, 0, 2, 2, 2, 0};
  EXPECT_GT(evaluate(network_, data_, settings).loss, loss);
  settings.task.margins = {0, 1, 1, 0};
  EXPECT_THROW(evaluate(network_, data_, settings), Error);
}

TEST_F(Api, ANetworkCentredAtItselfKeepsItsObjective) {
  RefineSettings settings = kFewMoves;
  settings.centre = "start";
  const RefineSummary first = refine(network_, data_, settings);
  EXPECT_EQ(first.centre, "start");
  EXPECT_NEAR(objective(network_), first.end.objective, 1e-6);
}

TEST_F(Api, SvmComesWithACertificate) {
  Network svm;
  int epochs = 0;
  const SvmSummary summary = train_svm(svm, data_, {.gap = 0.01, .on_progress = [&](const SvmProgress& p) {
                                                      epochs += p.epoch_end;
                                                      return true;
                                                    }});
  EXPECT_GT(epochs, 0);
  EXPECT_LE(summary.relative_gap, 0.0101);
  EXPECT_GE(summary.objective, summary.dual);
  EXPECT_NEAR(objective(svm), summary.objective, 1e-6);
}

// The defaults, and the bits, are those of the command line.
TEST(CommandLine, DoesWhatTheApiDoes) {
  const TemporaryFolder folder;
  const std::string name = "synthetic:n=300,test=60,classes=3,size=8x8";
  const auto lwsvm = [&](const cli::Arguments& arguments) {
    const cli::Result result = cli::run(folder.path(), arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  };
  const auto same = [&](const Network& network, const char* file) {
    network.save((folder / "api.onnx").string());
    EXPECT_TRUE(read_file(folder / "api.onnx") == read_file(folder / file)) << file;
  };
  const Data data = Data::load(name);
  Network network;
  train(network, data, {.arch = kSmallNet, .epochs = 2});
  lwsvm({"train", "--data", name, "--arch", kSmallNet, "--epochs", "2", "-o", "net.onnx"});
  same(network, "net.onnx");
  refine(network, data);
  lwsvm({"refine", "net.onnx", "--data", name, "-o", "better.onnx"});
  same(network, "better.onnx");
  train_svm(network, data, {.lambda = 0.01});
  lwsvm({"svm", "--data", name, "--lambda", "0.01", "-o", "svm.onnx"});
  same(network, "svm.onnx");
}

}  // namespace
}  // namespace lwsvm
