// lwsvm report: from run folders to a page, also from damaged ones; and the page in a browser.
#include <gmock/gmock.h>

#include "cli/program.h"
#include "cli/report_page.h"
#include "judge.h"
#include "report/run_log.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Report : public testing::Test {
 protected:
  // base: 3 epochs; long: the same and 2 more; refined: base after one pass.
  static void SetUpTestSuite() {
    shared_ = new TemporaryFolder;
    make("base", "3");
    make("long", "5");
    const Result result =
        run(shared_->path(), {"refine", "base.onnx", "--data", small_data, "--passes", "1", "--moves",
                              "layers", "-q", "-o", "refined.onnx", "--run", "refined"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  static void make(const std::string& name, const std::string& epochs) {
    const Result result =
        run(shared_->path(), {"train", "--data", small_data, "--arch", small_net, "--batch", "50", "--epochs",
                              epochs, "-q", "-o", name + ".onnx", "--run", name});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  // A copy of the runs that a test may damage.
  Report() { fs::copy(shared_->path(), folder_.path(), fs::copy_options::recursive); }
  Result report(const Arguments& arguments) { return run(folder_.path(), Arguments{"report"} + arguments); }
  void write_log(const std::string& name, const std::string& text) {
    fs::create_directories(folder_ / name);
    write_file_atomically(folder_ / name / "log.jsonl", text);
  }

  static TemporaryFolder* shared_;
  TemporaryFolder folder_;
};
TemporaryFolder* Report::shared_ = nullptr;

TEST_F(Report, TellsHowTheRunsHangTogether) {
  const Result result = report({"base", "long", "refined", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.value()["report"], "report.html");
  EXPECT_EQ(result.value()["runs"], json({"base", "long", "refined"}));
  EXPECT_THAT(result.value()["warnings"], IsEmpty());
  const json data = page_data(folder_ / "report.html");
  const json& runs = data["runs"];
  EXPECT_EQ(runs[1]["shorter"], 0);
  EXPECT_EQ(runs[1]["shared_epochs"], 3);
  EXPECT_EQ(runs[2]["parent"], 0);
  EXPECT_EQ(runs[2]["shift"], runs[0]["seconds"]);
  EXPECT_EQ(runs[2]["records"].size(), read_run_log(folder_ / "refined/log.jsonl").records.size());
}

// What the gallery counts must be what eval finds.
TEST_F(Report, GalleryAgreesWithEval) {
  ASSERT_EQ(report({"refined"}).exit_code, 0);
  const json gallery = page_data(folder_ / "report.html")["galleries"][0];
  ASSERT_FALSE(gallery.contains("note")) << gallery["note"];
  for (const auto& [model, when] : {std::pair("base.onnx", "before"), std::pair("refined.onnx", "after")}) {
    const json eval = run(folder_.path(), {"eval", model, "--data", small_data, "--json"}).value();
    int correct = 0, all = 0;
    const json& matrix = gallery["confusion"][when];
    for (std::size_t r = 0; r < matrix.size(); ++r)
      for (std::size_t c = 0; c < matrix.size(); ++c) {
        all += matrix[r][c].get<int>();
        if (r == c) correct += matrix[r][c].get<int>();
      }
    EXPECT_EQ(eval["correct"], correct);
    EXPECT_EQ(eval["samples"], all);
    EXPECT_EQ(eval["accuracy"], gallery["accuracy"][when]);
  }
  EXPECT_EQ(gallery["filters"]["before"].size(), 4U);  // conv4x3
  for (const json& image : gallery["improved"]) {
    EXPECT_GT(image["after"]["margin"], image["before"]["margin"]);
    EXPECT_EQ(image["after"]["margin"] > 0, image["after"]["label"] == image["label"]);
  }
  for (const json& image : gallery["damaged"]) EXPECT_LT(image["after"]["margin"], image["before"]["margin"]);
}

// As in reproduce/mnist/adam-lwsvm, whose data set is mnist.
TEST_F(Report, AFolderWithTheNameOfTheDataSetIsNotTheDataSet) {
  fs::create_directory(folder_ / small_data);
  ASSERT_EQ(report({"refined"}).exit_code, 0);
  const json gallery = page_data(folder_ / "report.html")["galleries"][0];
  EXPECT_FALSE(gallery.contains("note")) << gallery["note"];
}

TEST_F(Report, FindsNetworksFromAnotherFolder) {
  TemporaryFolder elsewhere;
  const std::string here = (folder_ / "refined").string();
  ASSERT_EQ(run(elsewhere.path(), {"report", here, (folder_ / "base").string()}).exit_code, 0);
  const json data = page_data(elsewhere / "report.html");
  EXPECT_EQ(data["runs"][0]["parent"], 1);
  EXPECT_FALSE(data["galleries"][0].contains("note"));
  fs::remove(folder_ / "refined/checkpoint.bin");  // as in a log that somebody sent
  ASSERT_EQ(run(elsewhere.path(), {"report", here}).exit_code, 0);
  EXPECT_FALSE(page_data(elsewhere / "report.html")["galleries"][0].contains("note"));
}

TEST_F(Report, SaysWhatIsGoneAndGoesOn) {
  for (const char* folder : {"base.onnx", "refined/checkpoint.bin"}) fs::remove(folder_ / folder);
  ASSERT_EQ(report({"refined", "base"}).exit_code, 0);
  const json data = page_data(folder_ / "report.html");
  EXPECT_THAT(data["galleries"][0]["note"].get<std::string>(), HasSubstr("base.onnx"));
  EXPECT_EQ(data["runs"].size(), 2U);
}

TEST_F(Report, WithoutImagesEvaluatesNothing) {
  ASSERT_EQ(report({"refined", "--no-images", "--title", "Mine", "-o", "page.html"}).exit_code, 0);
  EXPECT_THAT(page_data(folder_ / "page.html")["galleries"], IsEmpty());
  EXPECT_EQ(page_data(folder_ / "page.html")["title"], "Mine");
}

TEST_F(Report, WritesCsvToAFolderOrAFile) {
  ASSERT_EQ(report({"base", "refined", "--no-images", "--csv", "tables"}).exit_code, 0);
  EXPECT_THAT(read_file(folder_ / "tables/refined.csv"), testing::StartsWith("type,command,settings,"));
  ASSERT_EQ(report({"base", "--no-images", "--csv", "one.csv"}).exit_code, 0);
  EXPECT_EQ(read_file(folder_ / "one.csv"), read_file(folder_ / "tables/base.csv"));
  const Result result = report({"base", "refined", "--no-images", "--csv", "one.csv"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("give a folder"));
}

TEST_F(Report, RunsOfTheSameNameGetTheirOwnCsv) {
  fs::create_directories(folder_ / "other");
  fs::copy(folder_ / "long", folder_ / "other/base");
  ASSERT_EQ(report({"base", "other/base", "--no-images", "--csv", "tables"}).exit_code, 0);
  EXPECT_NE(read_file(folder_ / "tables/base.csv"), read_file(folder_ / "tables/base-2.csv"));
}

TEST_F(Report, OfADamagedLogShowsWhatCanBeReadAndNamesTheLine) {
  const std::string whole = read_file(folder_ / "refined/log.jsonl");
  const std::size_t within_a_line = whole.find('\n', whole.size() / 2) - 1;
  write_log("cut", "nonsense\n" + whole.substr(0, within_a_line));
  const Result result = report({"cut"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("cut/log.jsonl: line 1 "));
  const json data = page_data(folder_ / "report.html");
  EXPECT_GT(data["runs"][0]["records"].size(), 1U);
  EXPECT_EQ(data["warnings"].size(), 2U);
}

TEST_F(Report, OfNothingReadableIsRefused) {
  write_log("empty", "");
  write_log("foreign", "time,loss\n1,0.5\n");
  for (const char* name : {"empty", "foreign"}) {
    const Result result = report({name});
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_THAT(result.err, HasSubstr(std::string(name) + "/log.jsonl"));
  }
  EXPECT_FALSE(fs::exists(folder_ / "report.html"));
  EXPECT_EQ(report({"empty", "base"}).exit_code, 0) << "one of two can be read";
}

TEST_F(Report, WithoutALogIsRefusedWithARemedy) {
  fs::create_directories(folder_ / "nothing");
  const Result result = report({"nothing"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--run nothing"));
  EXPECT_EQ(report({"absent"}).exit_code, 2);
}

TEST_F(Report, ThatCannotBeWrittenIsAnError) {
  const Result result = report({"base", "-o", "no/such/folder/report.html"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no/such/folder/report.html"));
}

// --- in a browser

class ReportInABrowser : public Report {
 protected:
  void SetUp() override {
    if (!has_browser()) LWSVM_NO_JUDGE() << kNeedsABrowser;
  }
};

TEST_F(ReportInABrowser, ShowsWhatTheLogsSay) {
  write_log("refined",
            read_file(folder_ / "refined/log.jsonl") +
                R"({"type":"ranks","ranks":[)"
                R"({"rank":"one, rank 0","computing":6,"exchanging":3,"waiting":1,"bytes_sent":5000000},)"
                R"({"rank":"two, rank 1","computing":4,"exchanging":3,"waiting":3,"bytes_sent":5000000}]})"
                "\n");
  ASSERT_EQ(report({"base", "long", "refined", "--csv", "tables"}).exit_code, 0);
  const auto path = [&](const std::string& name) { return (folder_ / name).string(); };
  const auto [code, printed] =
      look("report_page.js", {path("report.html"), path("tables"), path("base/log.jsonl"),
                              path("long/log.jsonl"), path("refined/log.jsonl")});
  EXPECT_EQ(code, 0) << printed;
}

TEST_F(ReportInABrowser, RunsNothingThatANameSays) {
  const std::string markup = "<img src=x onerror=alert(1)>";
  std::string log = read_file(folder_ / "refined/log.jsonl");
  for (std::size_t at = 0; (at = log.find("\"dense1\"", at)) != std::string::npos; ++at)
    log.replace(at, 8, "\"" + markup + "\"");
  ASSERT_THAT(log, HasSubstr(markup));
  write_log(markup, log);
  ASSERT_EQ(report({markup, "--title", "</title>" + markup}).exit_code, 0);
  const auto [code, printed] = look("silent_page.js", {(folder_ / "report.html").string(), markup});
  EXPECT_EQ(code, 0) << printed;
}

// Logs as they never should be: the page shows the rest.
TEST_F(ReportInABrowser, StandsLogsOfAnyValues) {
  write_log(
      "odd",
      "{\"type\":\"run\",\"settings\":7,\"start\":[],\"command\":\"refine\"}\n{\"type\":\"epoch\"}\n"
      "{\"type\":\"update\",\"seconds\":\"x\",\"objective\":null,\"layer\":[1],\"mu\":{},\"reason\":4}\n"
      "{\"type\":\"inner\",\"primal\":\"x\",\"layer\":{}}\n{\"type\":\"ranks\",\"ranks\":[7,{\"rank\":[],"
      "\"waiting\":-1}]}\n{\"type\":\"end\",\"model\":3,\"seconds\":[]}\n");
  write_log("bare",
            "{\"type\":\"epoch\",\"seconds\":1e300,\"objective\":-1}\n{\"type\":\"epoch\",\"seconds\":-1,"
            "\"objective\":0}\n");
  ASSERT_EQ(report({"odd", "bare"}).exit_code, 0);
  const auto [code, printed] = look("silent_page.js", {(folder_ / "report.html").string(), "odd"});
  EXPECT_EQ(code, 0) << printed;
}

}  // namespace
}  // namespace lwsvm::cli
