// The paper's protocol on data of a moment: which parts are made, and that none is made twice.
#include <gmock/gmock.h>

#include <map>
#include <sstream>

#include "cli/program.h"
#include "cli/report_page.h"
#include "judge.h"
#include "report/run_log.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const std::string tiny_net = "dense8-relu";
const Arguments tiny{"--data",    "synthetic:n=240,test=60,classes=3,size=8x8",
                     "--arch",    tiny_net,
                     "--epochs",  "2",
                     "--longer",  "4",
                     "--passes",  "1",
                     "--threads", "1"};

Arguments reproduce(const std::string& experiment, const std::string& out, const std::string& solvers) {
  return Arguments{"reproduce", experiment, "--out", out, "--solvers", solvers} + tiny;
}

json results(const fs::path& out) {
  return json::parse(read_file(out / "results.json"));
}

// What results.json says of each part, without times and places.
std::map<std::string, json> numbers(const fs::path& out) {
  std::map<std::string, json> found;
  const json all = results(out);
  for (json part : all.at("parts")) {
    if (part["result"].is_object())
      for (const char* key : {"seconds", "model"}) part["result"].erase(key);
    found[part["name"]] = part["result"];
  }
  return found;
}

std::vector<std::string> part_names(const fs::path& out) {
  std::vector<std::string> names;
  const json all = results(out);
  for (const json& part : all.at("parts")) names.push_back(part["name"]);
  return names;
}

// Every file of every run, with its time.
std::map<std::string, fs::file_time_type> run_files(const fs::path& out) {
  std::map<std::string, fs::file_time_type> files;
  for (const auto& entry : fs::recursive_directory_iterator(out))
    if (entry.is_regular_file() && entry.path().parent_path() != out)
      files[entry.path().string()] = entry.last_write_time();
  return files;
}

std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(piece, at)) != std::string::npos; at += piece.size()) ++found;
  return found;
}

// A finished reproduction of two solvers in folder/out; every test only looks at it, or copies it.
class Reproduce : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    result_ = new Result(run(folder_->path(), reproduce("mnist", "out", "adadelta,adam")));
  }
  static void TearDownTestSuite() {
    delete folder_;
    delete result_;
  }
  void SetUp() override { ASSERT_EQ(result_->exit_code, 0) << result_->err; }

  fs::path out() const { return *folder_ / "out"; }

  static TemporaryFolder* folder_;
  static Result* result_;
};
TemporaryFolder* Reproduce::folder_ = nullptr;
Result* Reproduce::result_ = nullptr;

TEST_F(Reproduce, MakesEveryPart) {
  EXPECT_THAT(part_names(out()),
              testing::ElementsAre("adadelta", "adadelta-longer", "adadelta-refine", "adadelta-lwsvm",
                                   "adadelta-lwsvm-paper", "adam", "adam-longer", "adam-refine", "adam-lwsvm",
                                   "adam-lwsvm-paper"));
  for (const std::string& name : part_names(out()))
    for (const char* file : {"log.jsonl", "checkpoint.bin", "model.onnx"})
      EXPECT_TRUE(fs::exists(out() / name / file)) << name << " " << file;
}

TEST_F(Reproduce, LeavesAPageWithItsTable) {
  const std::string page = read_file(out() / "report.html");
  EXPECT_THAT(page, HasSubstr("</html>"));
  EXPECT_THAT(page, HasSubstr("Adam (2) + LW-SVM, as published"));
}

TEST_F(Reproduce, ItsPageShowsSolversSideBySideAndOneAtATime) {
  if (!has_browser()) LWSVM_NO_JUDGE() << kNeedsABrowser;
  const auto [code, printed] =
      look("comparison_page.js", {(out() / "report.html").string(), "Adadelta", "Adam"});
  EXPECT_EQ(code, 0) << printed;
}

TEST_F(Reproduce, ReportsWhatEvalFinds) {
  const auto found = numbers(out());
  for (const char* name : {"adam-longer", "adam-lwsvm"}) {
    const Result eval = run(out(), {"eval", std::string(name) + "/model.onnx", "--data", tiny[1], "--json"});
    EXPECT_EQ(eval.value()["accuracy"], found.at(name)["test_accuracy"]) << name;
  }
}

TEST_F(Reproduce, LongerIsTheRunOfThatLength) {
  TemporaryFolder folder;
  const Result whole = run(folder.path(), {"train", "--data", tiny[1], "--arch", tiny_net, "--solver", "adam",
                                           "--epochs", "4", "--run", "run"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_TRUE(read_file(folder / "run/model.onnx") == read_file(out() / "adam-longer/model.onnx"));
}

TEST_F(Reproduce, DoesNotRunAFinishedPartAgain) {
  const auto before = run_files(out());
  const json told = results(out());
  const Result again = run(folder_->path(), reproduce("mnist", "out", "adadelta,adam"));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(run_files(out()), before);
  EXPECT_EQ(results(out()), told);
  EXPECT_EQ(again.out, result_->out);
  EXPECT_EQ(count(again.err, "was finished before"), 10u);
}

TEST_F(Reproduce, PrintsItsResultsAsJson) {
  const Result again =
      run(folder_->path(), reproduce("mnist", "out", "adadelta,adam") + Arguments{"--json", "-q"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.value(), results(out()));
  EXPECT_EQ(again.err, "");
}

TEST_F(Reproduce, TableFormatsAreWhole) {
  const std::string markdown = read_file(out() / "table.md"), latex = read_file(out() / "table.tex"),
                    csv = read_file(out() / "table.csv");
  EXPECT_THAT(markdown, HasSubstr("| Adam (2) + LW-SVM |"));
  EXPECT_THAT(markdown, HasSubstr("| Adam (4) |"));
  EXPECT_THAT(result_->out, HasSubstr("Adam (2) + LW-SVM, as published"));

  EXPECT_EQ(count(latex, "{"), count(latex, "}"));
  EXPECT_EQ(count(latex, "%"), count(latex, "\\%"));
  EXPECT_EQ(count(latex, "_"), count(latex, "\\_"));
  EXPECT_EQ(count(latex, " \\\\\n"), 1u + 10u);

  std::istringstream lines(csv);
  std::string line;
  int rows = 0;
  std::size_t columns = 0;
  for (; std::getline(lines, line); ++rows) {
    bool quoted = false;
    std::size_t cells = 1;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      cells += c == ',' && !quoted;
    }
    EXPECT_FALSE(quoted) << line;
    if (rows == 0) columns = cells;
    EXPECT_EQ(cells, columns) << line;
  }
  EXPECT_EQ(rows, 1 + 10);
}

TEST_F(Reproduce, OtherSettingsInTheSameFolderAreAnError) {
  const auto before = run_files(out());
  Arguments other = reproduce("mnist", "out", "adadelta,adam");
  *std::find(other.begin(), other.end(), "2") = "3";  // epochs
  const Result result = run(folder_->path(), other);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("out/adadelta: the run in this folder has other settings (epochs 2, not 3)"));
  EXPECT_THAT(result.err, HasSubstr("give another --out, or remove it"));
  EXPECT_EQ(run_files(out()), before);
}

TEST_F(Reproduce, TakesARunThatWasBegunByHandAndAFolderThatWasMoved) {
  TemporaryFolder elsewhere;
  const Result hand = run(elsewhere.path(), {"train", "--data", tiny[1], "--arch", tiny_net, "--solver",
                                             "adam", "--epochs", "2", "--run", "old/adam"});
  ASSERT_EQ(hand.exit_code, 0) << hand.err;
  // As by a program that wrote no end records, and then moved.
  std::string log = read_file(elsewhere / "old/adam/log.jsonl");
  log.resize(log.rfind("{\"type\":\"end\""));
  write_file_atomically(elsewhere / "old/adam/log.jsonl", log);
  fs::rename(elsewhere / "old", elsewhere / "new");
  const Result result = run(elsewhere.path(), reproduce("mnist", "new", "adam"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("epoch   1/2")));
  EXPECT_FALSE(fs::exists(elsewhere / "old"));
  EXPECT_EQ(numbers(elsewhere / "new").at("adam-lwsvm"), numbers(out()).at("adam-lwsvm"));
}

TEST_F(Reproduce, ThatWasCopiedShowsItsOwnNetworks) {
  TemporaryFolder copy;
  fs::copy(out(), copy / "moved", fs::copy_options::recursive);
  for (const char* name : {"adam", "adam-lwsvm"})
    fs::copy_file(copy / "moved/adadelta/model.onnx", copy / "moved" / name / "model.onnx",
                  fs::copy_options::overwrite_existing);
  const Result result = run(copy.path(), {"report", "moved/adam", "moved/adam-lwsvm"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json data = page_data(copy / "report.html"), gallery = data["galleries"][0];
  EXPECT_EQ(data["runs"][1]["parent"], 0);
  ASSERT_FALSE(gallery.contains("note")) << gallery["note"];
  EXPECT_EQ(gallery["confusion"]["before"], gallery["confusion"]["after"]);  // here both are one network
}

TEST_F(Reproduce, ShowsWhatWasFinishedWhileTheRestIsRun) {
  TemporaryFolder copy;
  fs::copy(out(), copy / "out", fs::copy_options::recursive);
  fs::remove_all(copy / "out/adadelta-lwsvm-paper");
  fs::remove(copy / "out/adam-lwsvm/log.jsonl");  // cannot be gone on with: the command ends there
  EXPECT_EQ(run(copy.path(), reproduce("mnist", "out", "adadelta,adam")).exit_code, 2);
  EXPECT_EQ(numbers(copy / "out").at("adam-lwsvm-paper"), numbers(out()).at("adam-lwsvm-paper"));
  EXPECT_TRUE(numbers(copy / "out").at("adam-lwsvm").is_null());
}

TEST_F(Reproduce, WithMoreTimeGoesOnWithWhatRanOutOfIt) {
  TemporaryFolder folder;
  const Arguments command = reproduce("mnist", "out", "adam");
  const Result hasty = run(folder.path(), command + Arguments{"--time-limit", "0.001s"});
  ASSERT_EQ(hasty.exit_code, 0) << hasty.err;
  EXPECT_EQ(numbers(folder / "out").at("adam-lwsvm")["end"], "time is up");
  const Result again = run(folder.path(), command + Arguments{"--time-limit", "0.001s"});
  EXPECT_EQ(count(again.err, "was finished before"), 5u) << again.err;
  ASSERT_EQ(run(folder.path(), command).exit_code, 0);
  EXPECT_EQ(numbers(folder / "out").at("adam-lwsvm"), numbers(out()).at("adam-lwsvm"));
}

TEST_F(Reproduce, NoticesThatANetworkWasReplacedUnderItsRefinement) {
  TemporaryFolder copy;
  fs::copy(out(), copy / "out", fs::copy_options::recursive);
  fs::remove_all(copy / "out/adam");
  fs::remove_all(copy / "out/adam-longer");
  Arguments other = reproduce("mnist", "out", "adam");
  *std::find(other.begin(), other.end(), "2") = "3";
  const Result result = run(copy.path(), other);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("adam-refine: this run began at objective"));
}

TEST_F(Reproduce, AfterSignalsGoesOnToTheSameNumbers) {
  TemporaryFolder folder;
  const Arguments command = reproduce("mnist", "out", "adadelta,adam");
  int stops = 0;
  for (const char* part : {"adadelta", "adadelta-lwsvm", "adam-longer", "adam-lwsvm-paper"}) {
    Process process(folder.path(), command, checkpoint_always);
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!fs::exists(folder / "out" / part / "checkpoint.bin") && std::chrono::steady_clock::now() < latest)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.send(SIGINT);
    const Result stopped = process.wait();
    if (stopped.exit_code != 130) continue;  // it was just done with everything
    ++stops;
    EXPECT_THAT(stopped.err, HasSubstr("the same command goes on with it"));
  }
  EXPECT_GE(stops, 1);
  const Result whole = run(folder.path(), command);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(numbers(folder / "out"), numbers(out()));
}

TEST(ReproduceCifar, PretrainsEachSolver) {
  TemporaryFolder folder;
  const Result result = run(folder.path(), reproduce("cifar10", "out", "adam"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(part_names(folder / "out"),
              testing::ElementsAre("pretrain-adam", "adam", "adam-longer", "adam-refine", "adam-lwsvm",
                                   "adam-lwsvm-paper"));
  const json parts = results(folder / "out")["parts"];
  EXPECT_EQ(parts[0]["settings"]["loss"], "ce");
  EXPECT_EQ(parts[0]["settings"]["epochs"], 10);
  EXPECT_EQ(parts[1]["settings"]["loss"], "svm");
  EXPECT_EQ(parts[1]["settings"]["learning_rate"], 0.0001);
}

TEST(ReproduceFailures, RunsBothCases) {
  TemporaryFolder folder;
  const Result result = run(folder.path(), reproduce("failures", "out", "adam"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(part_names(folder / "out"),
              testing::ElementsAre("lambda-adam", "lambda-adam-lwsvm", "lambda-start", "lambda-lwsvm",
                                   "biases-adam", "biases-adam-lwsvm", "biases-start", "biases-lwsvm"));
  const json parts = results(folder / "out")["parts"];
  EXPECT_EQ(parts[0]["settings"]["lambda"], 0.01);
  EXPECT_EQ(parts[4]["settings"]["arch"], "nobias:" + tiny_net);
  const Result inspected = run(folder / "out", {"inspect", "biases-lwsvm/model.onnx", "--json"});
  EXPECT_EQ(inspected.value()["parameters"], 64 * 8 + 8 * 3);
}

TEST(ReproduceInput, IsNamedWhereItIsWrong) {
  TemporaryFolder folder;
  const auto message = [&](const Arguments& arguments) {
    const Result result = run(folder.path(), Arguments{"reproduce"} + arguments);
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_THAT(message({"mnist", "--solvers", "adam,adagard"}), HasSubstr("did you mean 'adagrad'?"));
  EXPECT_THAT(message({"minst"}), HasSubstr("did you mean 'mnist'?"));
  EXPECT_THAT(message({"mnist", "--scale", "quik"}), HasSubstr("did you mean 'quick'?"));
  EXPECT_THAT(message({"mnist", "--epochs", "9", "--longer", "8"}), HasSubstr("--longer 8 is less"));
  EXPECT_EQ(folder.entries(), 0u);
}

}  // namespace
}  // namespace lwsvm::cli
