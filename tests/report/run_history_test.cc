#include "report/run_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "report/run_log.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

class History : public testing::Test {
 protected:
  RunHistory of_text(const std::string& text) {
    write_file_atomically(folder_ / "log.jsonl", text);
    return read_history(folder_.path());
  }
  TemporaryFolder folder_;
};

TEST_F(History, IsWhatTheLogSays) {
  const RunHistory run = of_text(
      "{\"type\":\"run\",\"command\":\"train\",\"settings\":{\"solver\":\"adam\"}}\n"
      "{\"type\":\"epoch\",\"seconds\":2.5}\n{\"type\":\"of the "
      "future\"}\n{\"type\":\"epoch\",\"seconds\":4}\n");
  EXPECT_TRUE(run.problems.empty());
  EXPECT_EQ(run.records.size(), 4U);
  EXPECT_EQ(run.all("epoch").size(), 2U);
  EXPECT_EQ(run.setting("solver"), "adam");
  EXPECT_TRUE(run.setting("absent").is_null());
  EXPECT_EQ(run.seconds(), 4);
  EXPECT_EQ(run.name(), folder_.path().filename());
  EXPECT_EQ(read_history(folder_ / "log.jsonl").name(), run.name());
}

TEST_F(History, HasTheSettingsThatItWasLastTold) {
  const RunHistory run = of_text(
      "{\"type\":\"run\",\"settings\":{\"epochs\":100}}\n{\"type\":\"epoch\",\"seconds\":1}\n"
      "{\"type\":\"resume\",\"settings\":{\"epochs\":500}}\n{\"type\":\"epoch\",\"seconds\":2}\n");
  EXPECT_EQ(run.setting("epochs"), 500);
}

TEST_F(History, OfACutLogIsItsWholeLines) {
  const RunHistory run = of_text("{\"type\":\"run\"}\n{\"type\":\"epoch\"}\n{\"type\":\"ep");
  EXPECT_EQ(run.records.size(), 2U);
  EXPECT_THAT(run.problems, ElementsAre(HasSubstr("log.jsonl: line 3 ")));
}

TEST_F(History, LeavesOutWhatIsNotOfLwsvmAndNamesTheLine) {
  const RunHistory run =
      of_text("{\"type\":\"run\"}\n<html>\n{\"loss\":1}\n[1]\n{\"type\":7}\n{\"type\":\"epoch\"}\n");
  EXPECT_EQ(run.records.size(), 2U);
  EXPECT_THAT(run.problems, testing::UnorderedElementsAre(HasSubstr("line 2 "), HasSubstr("line 3 "),
                                                          HasSubstr("line 4 "), HasSubstr("line 5 ")));
}

// Copying or writing such a value would overflow the stack.
TEST_F(History, LeavesOutWhatIsNestedTooDeep) {
  const std::size_t depth = 1'000'000;
  const RunHistory run = of_text("{\"type\":\"run\",\"deep\":" + std::string(depth, '[') +
                                 std::string(depth, ']') + "}\n{\"type\":\"epoch\"}\n");
  EXPECT_EQ(run.records.size(), 1U);
  EXPECT_THAT(run.problems, testing::Contains(HasSubstr("line 1 ")));
}

TEST_F(History, OfAnEmptyLogSaysSo) {
  const RunHistory run = of_text("");
  EXPECT_TRUE(run.records.empty());
  EXPECT_THAT(run.problems, ElementsAre(HasSubstr("is empty")));
}

// Values of unexpected types are no reason to give up.
TEST_F(History, ToleratesForeignValues) {
  std::vector<RunHistory> runs{
      of_text("{\"type\":\"run\",\"command\":7,\"settings\":[1],\"start\":\"x\"}\n{\"type\":\"epoch\","
              "\"seconds\":\"9\"}\n")};
  runs.push_back(runs[0]);
  EXPECT_EQ(runs[0].seconds(), 0);
  EXPECT_TRUE(runs[0].setting("solver").is_null());
  link_runs(runs);
  EXPECT_EQ(runs[0].parent, -1);
  EXPECT_EQ(runs[1].shorter, -1);
}

TEST_F(History, WithoutALogIsAnErrorWithARemedy) {
  try {
    read_history(folder_.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--run"));
  }
  EXPECT_THROW(read_history(folder_ / "absent"), Error);
}

RunHistory trained(const std::string& solver, int epochs, double seconds_each) {
  RunHistory run;
  run.records.push_back(
      {{"type", "run"}, {"command", "train"}, {"settings", {{"solver", solver}, {"epochs", epochs}}}});
  for (int epoch = 1; epoch <= epochs; ++epoch)
    run.records.push_back(
        {{"type", "epoch"}, {"epoch", epoch}, {"seconds", seconds_each * epoch}, {"objective", 1.0 / epoch}});
  return run;
}

RunHistory refined(double start) {
  RunHistory run;
  run.records.push_back({{"type", "run"}, {"command", "refine"}, {"start", {{"objective", start}}}});
  run.records.push_back({{"type", "update"}, {"seconds", 5}, {"objective", start / 2}});
  return run;
}

TEST(LinkedRuns, RefiningBeginsWhereItsNetworkWasMade) {
  std::vector<RunHistory> runs{refined(0.25), trained("adam", 4, 10), refined(0.125)};
  runs[1].output = runs[0].input = "/a.onnx";
  runs[0].output = runs[2].input = "/b.onnx";
  link_runs(runs);
  EXPECT_EQ(runs[0].parent, 1);
  EXPECT_EQ(runs[0].shift, 40);
  EXPECT_EQ(runs[2].parent, 0);
  EXPECT_EQ(runs[2].shift, 45);
  EXPECT_EQ(runs[1].shift, 0);
}

TEST(LinkedRuns, ANetworkOfAnEarlierEpochIsFoundByItsObjective) {
  std::vector<RunHistory> runs{trained("adam", 4, 10), refined(0.5)};
  runs[0].output = runs[1].input = "/a.onnx";
  link_runs(runs);
  EXPECT_EQ(runs[1].shift, 20);
}

TEST(LinkedRuns, OfSeveralThatWroteTheFileTheOneThatFitsIsTheParent) {
  std::vector<RunHistory> runs{trained("adam", 3, 1), trained("adagrad", 5, 1), refined(0.2)};
  for (int i : {0, 1}) runs[static_cast<std::size_t>(i)].output = "/a.onnx";
  runs[2].input = "/a.onnx";
  link_runs(runs);
  EXPECT_EQ(runs[2].parent, 1);
}

TEST(LinkedRuns, ALongerRunContinuesTheShorterOnItsClock) {
  std::vector<RunHistory> runs{trained("adam", 3, 10), trained("adam", 8, 7), trained("adagrad", 9, 1)};
  link_runs(runs);
  EXPECT_EQ(runs[1].shorter, 0);
  EXPECT_EQ(runs[1].shared_epochs, 3);
  EXPECT_EQ(runs[1].shift, 30 - 21);
  EXPECT_EQ(runs[0].shorter, -1);
  EXPECT_EQ(runs[2].shorter, -1) << "another solver";
}

TEST(LinkedRuns, EpochsThatWereNotEvaluatedAreNoObstacle) {
  std::vector<RunHistory> runs{trained("adam", 4, 10), trained("adam", 8, 7)};
  for (std::size_t epoch : {1U, 3U, 5U}) runs[1].records[epoch].erase("objective");
  link_runs(runs);
  EXPECT_EQ(runs[1].shared_epochs, 4);
}

TEST(LinkedRuns, ARunThatGoesAnotherWayIsNoLongerRun) {
  std::vector<RunHistory> runs{trained("adam", 3, 10), trained("adam", 8, 7)};
  runs[1].records[2]["objective"] = 0.4999;
  link_runs(runs);
  EXPECT_EQ(runs[1].shorter, -1);
}

TEST(LinkedRuns, ThatOverwroteEachOtherDoNotGoRoundForEver) {
  std::vector<RunHistory> runs{refined(1), refined(0.5)};
  runs[0].output = runs[1].input = "/a.onnx";
  runs[1].output = runs[0].input = "/b.onnx";
  link_runs(runs);
  EXPECT_EQ(runs[0].parent, 1);
  EXPECT_EQ(runs[1].parent, 0);
}

}  // namespace
}  // namespace lwsvm
