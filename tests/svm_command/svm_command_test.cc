// `lwsvm svm` as a user runs it: the program itself, in a process of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/registry.h"
#include "judge.h"
#include "model/onnx_reader.h"
#include "net/evaluator.h"
#include "ssvm/multiclass_svm.h"
#include "svm_command/files.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

using json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  int code = -1;
  std::string out, err;

  json result() const { return json::parse(out, nullptr, false); }
};

class SvmCommand : public ::testing::Test {
 protected:
  // `prefix` goes in front of the program, as in "timeout 1s".
  Outcome run(const std::string& arguments, const std::string& prefix = "") {
    const auto out = folder_ / "stdout", err = folder_ / "stderr";
    const int status =
        std::system(fmt::format("cd '{}' && {} '{}' {} > '{}' 2> '{}'", folder_.path().string(), prefix,
                                LWSVM_PROGRAM, arguments, out.string(), err.string())
                        .c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
  }

  Outcome run_well(const std::string& arguments) {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }

  void write(const std::string& name, const std::string& text) { write_text(folder_ / name, text); }

  // Exit code 2 and one message, which is all there is; nothing written.
  void expect_refusal(const std::string& arguments, const std::string& complaint) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = run("svm -q -o refused.onnx " + arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(complaint));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "refused.onnx"));
  }

  // liblinear-train -s 4 -B 1 on a LIBSVM file; its model read back, classes in the order of their labels.
  LinearModel train_with_liblinear(const std::string& file, double c, double tolerance, std::int64_t width,
                                   const std::vector<std::int64_t>& names) {
    const auto command = fmt::format(
        "cd '{}' && liblinear-train -s 4 -B 1 -e {} -c {:.17g} {} liblinear.model > /dev/null 2>&1",
        folder_.path().string(), tolerance, c, file);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream in(folder_ / "liblinear.model");
    std::vector<std::int64_t> columns;
    for (std::string line; std::getline(in, line) && line != "w";)
      if (line.starts_with("label ")) {
        std::istringstream labels(line.substr(6));
        for (std::int64_t label; labels >> label;)
          columns.push_back(std::find(names.begin(), names.end(), label) - names.begin());
      }
    EXPECT_EQ(columns.size(), names.size());
    LinearModel model{static_cast<int>(names.size()), width, std::vector<float>(names.size() * width),
                      std::vector<float>(names.size())};
    for (std::int64_t j = 0; j <= width; ++j)
      for (const std::int64_t y : columns) {
        double value = 0;
        in >> value;
        (j < width ? model.weights[y * width + j] : model.biases[y]) = static_cast<float>(value);
      }
    EXPECT_TRUE(static_cast<bool>(in));
    return model;
  }

  // Trains both on the same file; ours must not be worse by more than 1e-3, and our certificate must hold for
  // theirs.
  void compare_with_liblinear(const toys::Data& data, const std::vector<std::int64_t>& names, double lambda,
                              double tolerance) {
    write_libsvm(folder_ / "train.txt", data, names);
    const json ours =
        run_well(fmt::format("svm --train train.txt --lambda {} --gap 8e-4 --json -q -o svm.onnx", lambda))
            .result();
    ASSERT_TRUE(ours.is_object());
    EXPECT_EQ(ours["reason"], "gap closed");
    const auto margin = MarginMatrix::zero_one(data.classes);
    const LinearModel model = train_with_liblinear("train.txt", ours["c"], tolerance, data.width, names);
    const double theirs = svm_objective(model, data.features, data.labels, margin, lambda);
    RecordProperty("ours", fmt::format("{}", ours["objective"].get<double>()));
    RecordProperty("liblinear", fmt::format("{}", theirs));
    EXPECT_LE(ours["objective"].get<double>(), theirs * (1 + 1e-3));
    EXPECT_GE(theirs, ours["dual"].get<double>() * (1 - 1e-6));
  }

  TemporaryFolder folder_;
};

bool has_liblinear() {
  return std::system("command -v liblinear-train > /dev/null 2>&1") == 0;
}

const char* const kTiny = "3 1:1 2:0.5\n-5 1:-1\n3 1:0.7\n12 2:2\n-5 1:-0.5 2:-1\n12 1:0.1 2:1.5\n";

TEST_F(SvmCommand, ReachesLiblinearsObjectiveOnSyntheticFiles) {
  if (!has_liblinear()) LWSVM_NO_JUDGE() << "liblinear-train is not installed (Debian: liblinear-tools)";
  compare_with_liblinear(toys::clouds(800, 20, 5, 2.0, 3), {-7, 0, 2, 30, 1000}, 1e-2, 1e-3);
  compare_with_liblinear(toys::clouds(600, 12, 3, 1.5, 4), {1, 2, 3}, 1e-3, 1e-3);
}

TEST_F(SvmCommand, ReachesLiblinearsObjectiveOnFashionMnist) {
  if (!has_liblinear()) LWSVM_NO_JUDGE() << "liblinear-train is not installed (Debian: liblinear-tools)";
  if (find_data(*find_known("fashion-mnist"), {}).empty())
    LWSVM_NO_JUDGE() << "Fashion-MNIST is not installed (Debian: dataset-fashion-mnist)";
  const DataSet images = load_data("fashion-mnist");
  toys::Data data{2000, images.shape.size(), images.classes, {}, {}};
  data.features.resize(static_cast<std::size_t>(data.samples * data.width));
  for (std::int64_t i = 0; i < data.samples; ++i) {
    images.train.read(static_cast<std::size_t>(i), data.features.data() + i * data.width);
    data.labels.push_back(images.train.labels()[static_cast<std::size_t>(i)]);
  }
  for (float& x : data.features) x /= 256;
  compare_with_liblinear(data, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1e-2, 1e-2);
}

TEST_F(SvmCommand, EvalSaysTheSameOfTheFileWritten) {
  const std::string data = "--data synthetic:n=600,test=200,classes=4,size=8x8,seed=5";
  const json svm =
      run_well("svm " + data + " --lambda 1e-2 --val 100 --split-seed 3 --threads 1 --json -q -o svm.onnx")
          .result();
  for (const auto& [split, key] :
       {std::pair("train", "train_accuracy"), {"val", "val_accuracy"}, {"test", "test_accuracy"}}) {
    const json eval =
        run_well(fmt::format("eval svm.onnx {} --split {} --threads 1 --json", data, split)).result();
    EXPECT_EQ(eval["accuracy"], svm[key]) << split;
    if (std::string(split) == "train") {
      EXPECT_EQ(eval["samples"], 500);
      EXPECT_EQ(eval["objective"], svm["objective"]);
      EXPECT_EQ(eval["lambda"], 1e-2);
    }
  }
  EXPECT_LE(svm["gap"].get<double>(), 1.001e-3 * svm["objective"].get<double>());
  EXPECT_NEAR(svm["gap"].get<double>(), svm["objective"].get<double>() - svm["dual"].get<double>(), 1e-12);
}

TEST_F(SvmCommand, NormalisationGoesIntoTheModel) {
  const std::string data = "--data synthetic:n=300,classes=3,size=6x6,channels=2,seed=5";
  for (const std::string options : {"--scale 255 --mean 0.4,0.5 --std 0.2,0.3", "--per-pixel"}) {
    const json svm =
        run_well("svm " + data + " --lambda 0.05 --val 0 --json -q -o n.onnx " + options).result();
    const json eval = run_well("eval n.onnx " + data + " --split train --json").result();
    EXPECT_EQ(eval["objective"], svm["objective"]) << options;
    EXPECT_EQ(svm["reason"], "gap closed");
  }
}

TEST_F(SvmCommand, ALibsvmModelKeepsItsLabelsAndTakesTheSameDataAsNpz) {
  const toys::Data data = toys::clouds(300, 7, 3, 1.5, 8);
  write_libsvm(folder_ / "train.txt", data, {-4, 0, 17});
  write_npz(folder_ / "data.npz", data);
  const json svm = run_well("svm --train train.txt --test train.txt --json -q -o svm.onnx").result();
  EXPECT_EQ(svm["test_accuracy"], svm["train_accuracy"]);
  EXPECT_FALSE(svm.contains("val_accuracy"));
  EXPECT_EQ(svm["samples"], 300);  // nothing held back unless asked
  const json eval = run_well("eval svm.onnx --data data.npz --split train --val 0 --json").result();
  EXPECT_EQ(eval["accuracy"], svm["train_accuracy"]);
  EXPECT_EQ(eval["objective"], svm["objective"]);

  const Model model = read_onnx(folder_ / "svm.onnx");
  EXPECT_EQ(model.info.class_names, (std::vector<std::string>{"-4", "0", "17"}));
  EXPECT_EQ(model.info.classes, 3);
  EXPECT_EQ(model.info.lambda, 1e-3);
  EXPECT_TRUE(model.graph.find("svm").has_value());
  run_well("inspect svm.onnx");
}

TEST_F(SvmCommand, ObjectiveIsThatOfTheDefinitionAlsoWithAMarginMatrix) {
  const toys::Data data = toys::clouds(200, 5, 3, 1.5, 9);
  write_libsvm(folder_ / "train.txt", data, {1, 2, 3});
  write("delta.csv", "0,1,2\n0.5,0,1\n3,1,0\n");
  const json svm =
      run_well("svm --train train.txt --delta delta.csv --lambda 0.01 --json -q -o svm.onnx").result();
  const Model model = read_onnx(folder_ / "svm.onnx");
  const auto& w = model.graph.parameters();
  ASSERT_EQ(w.size(), 18u);
  const LinearModel linear{3, 5, {w.begin(), w.begin() + 15}, {w.begin() + 15, w.end()}};
  const MarginMatrix margin(3, std::vector<float>{0, 1, 2, 0.5f, 0, 1, 3, 1, 0});
  EXPECT_NEAR(svm_objective(linear, data.features, data.labels, margin, 0.01), svm["objective"].get<double>(),
              1e-5);
}

TEST_F(SvmCommand, SameBitsWithOneAndTwoThreads) {
  write_libsvm(folder_ / "train.txt", toys::clouds(500, 40, 4, 2.0, 11), {1, 2, 3, 4});
  for (const std::string source :
       {"--train train.txt", "--data synthetic:n=600,classes=4,size=10x10,seed=2"}) {
    std::string bytes[2];
    json results[2];
    for (const int threads : {1, 2}) {
      results[threads - 1] =
          run_well(
              fmt::format("svm {} --lambda 0.01 --seed 4 --threads {} --json -q -o t.onnx", source, threads))
              .result();
      results[threads - 1].erase("seconds");
      bytes[threads - 1] = read_text(folder_ / "t.onnx");
    }
    EXPECT_FALSE(bytes[0].empty());
    EXPECT_TRUE(bytes[0] == bytes[1]) << source;
    EXPECT_EQ(results[0], results[1]);
  }
}

// A line with a huge index is 21 bytes, and must not become gigabytes.
TEST_F(SvmCommand, MemoryIsBoundedByTheFileNotByItsHighestIndex) {
#ifdef LWSVM_SANITIZED
  const std::string limit;  // the sanitizers reserve terabytes of addresses; the release build is held to it
#else
  const std::string limit = "ulimit -v 1000000 &&";
#endif
  write("huge.txt", "0 1000000000:1\n1 1:1\n");
  const Outcome outcome = run("svm --train huge.txt --test huge.txt --json -q", limit);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.result()["train_accuracy"], 1.0);
  EXPECT_EQ(outcome.result()["test_accuracy"], 1.0);
  EXPECT_EQ(outcome.result()["features"], 1000000000);
  expect_refusal("--train huge.txt", "huge.txt: a network of 2 classes x 1,000,000,000 features");
  write("three.txt", "0 2147483647:1\n1 1:1\n2 2:1\n");
  expect_refusal("--train three.txt --scale 2", "normalise the file itself");
}

// The same samples with their features far apart are the same problem; what is written says so, too.
TEST_F(SvmCommand, SparseFilesGiveTheMachineOfDenseOnes) {
  const toys::Data data = toys::clouds(400, 6, 3, 1.5, 12);
  constexpr std::int64_t kApart = 200;
  toys::Data apart{data.samples, data.width * kApart, data.classes, {}, data.labels};
  apart.features.assign(static_cast<std::size_t>(apart.samples * apart.width), 0.0f);
  for (std::int64_t i = 0; i < data.samples; ++i)
    for (std::int64_t j = 0; j < data.width; ++j)
      apart.features[i * apart.width + (j + 1) * kApart - 1] = data.row(i)[j];
  write_libsvm(folder_ / "dense.txt", data, {1, 2, 3});
  write_libsvm(folder_ / "sparse.txt", apart, {1, 2, 3});
  write_npz(folder_ / "apart.npz", apart);
  const std::string options = " --lambda 0.01 --gap 1e-4 --val 100 --json -q ";
  const json dense = run_well("svm --train dense.txt --test dense.txt" + options).result();
  const Outcome outcome = run_well(
      "svm --train sparse.txt --test sparse.txt --lambda 0.01 --gap 1e-4 --val 100 --json -o s.onnx");
  EXPECT_THAT(outcome.err, HasSubstr("kept sparse: 6 features"));
  const json sparse = outcome.result();
  EXPECT_EQ(sparse["reason"], "gap closed");
  EXPECT_NEAR(sparse["objective"].get<double>(), dense["objective"].get<double>(),
              2e-4 * dense["objective"].get<double>());
  for (const char* key : {"train_accuracy", "val_accuracy", "test_accuracy"})
    EXPECT_NEAR(sparse[key].get<double>(), dense[key].get<double>(), 0.015) << key;
  const json eval =
      run_well("eval s.onnx --data apart.npz --split train --val 100 --split-seed 0 --json").result();
  EXPECT_NEAR(eval["objective"].get<double>(), sparse["objective"].get<double>(), 1e-6);
  EXPECT_EQ(eval["accuracy"], sparse["train_accuracy"]);
}

TEST_F(SvmCommand, SparseFilesGiveTheSameBitsWithOneAndTwoThreads) {
  std::string text;
  for (int i = 0; i < 700; ++i)
    text += fmt::format("{} {}:1 {}:{}\n", i % 4, 1 + i % 50, 1000 + (i * 37) % 900, 0.1 * (i % 7) + 1);
  write("text.txt", text);
  std::string bytes[2];
  for (const int threads : {1, 2}) {
    run_well(fmt::format("svm --train text.txt --lambda 0.01 --threads {} -q -o t.onnx", threads));
    bytes[threads - 1] = read_text(folder_ / "t.onnx");
  }
  EXPECT_FALSE(bytes[0].empty());
  EXPECT_TRUE(bytes[0] == bytes[1]);
}

TEST_F(SvmCommand, ReachesLiblinearsObjectiveOnSparseFiles) {
  if (!has_liblinear()) LWSVM_NO_JUDGE() << "liblinear-train is not installed (Debian: liblinear-tools)";
  toys::Data data{500, 300, 4, std::vector<float>(500 * 300, 0.0f), {}};
  for (std::int64_t i = 0; i < data.samples; ++i) {
    data.labels.push_back(static_cast<std::int32_t>(i % 4));
    for (std::int64_t k = 0; k < 9; ++k)  // words, of which some are a class's own
      data.features[i * data.width + (i * 61 + k * k * 17 + (k < 4 ? i % 4 : 0) * 5) % data.width] =
          1.0f + 0.1f * static_cast<float>(k);
  }
  compare_with_liblinear(data, {1, 2, 3, 4}, 1e-3, 1e-3);
}

// timeout(1) signals the program and then its group: the program hears it twice.
TEST_F(SvmCommand, CtrlCSavesWhatThereIs) {
  const Outcome outcome =
      run("svm --data synthetic:n=2000,classes=5,size=12x12 --lambda 1e-6 --gap 1e-12 --max-epochs 100000000 "
          "--json -o cut.onnx",
          "timeout --preserve-status -s INT 2");
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_EQ(outcome.result()["finished"], false);
  EXPECT_EQ(outcome.result()["reason"], "interrupted");
  EXPECT_THAT(outcome.err, HasSubstr("stopped; what there is is in cut.onnx"));
  const json eval =
      run_well("eval cut.onnx --data synthetic:n=2000,classes=5,size=12x12 --split train --json").result();
  EXPECT_EQ(eval["objective"], outcome.result()["objective"]);
}

TEST_F(SvmCommand, PrintsALineAnEpochAndAResultLine) {
  write("tiny.txt", kTiny);
  const Outcome outcome = run_well("svm --train tiny.txt --test tiny.txt --val 1 --lambda 0.1");
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("epoch    1  primal "), HasSubstr("  dual "), HasSubstr("  gap ")));
  EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("\r")));
  EXPECT_THAT(outcome.out, AllOf(StartsWith("objective "), HasSubstr("  dual "), HasSubstr("  gap "),
                                 HasSubstr("  train "), HasSubstr("  val "), HasSubstr("  test ")));
  EXPECT_EQ(run_well("svm --train tiny.txt -q").err, "");
  const Outcome cut = run_well("svm --train tiny.txt --lambda 1e-6 --gap 1e-9 --max-epochs 2");
  EXPECT_THAT(cut.err, HasSubstr("--max-epochs 2 used up"));
}

TEST_F(SvmCommand, HelpStatesTheStoppingRuleAndLiblinearsCommand) {
  const std::string help = run_well("svm --help").out;
  EXPECT_THAT(help, AllOf(HasSubstr("P - D <= gap * P"), HasSubstr("liblinear-train -s 4 -B 1 -c C"),
                          HasSubstr("C = 1 / (lambda N)")));
}

TEST_F(SvmCommand, RefusesBadInputWithOneMessage) {
  write("good.txt", kTiny);
  write("word.txt", "1 1:1\n2 1:x\n");
  write("label.txt", "1 1:1\n1.5 1:2\n");
  write("nan.txt", "1 1:1\n2 1:nan\n");
  write("order.txt", "1 1:1\n2 2:1 1:1\n");
  write("empty.txt", "# nothing\n");
  write("one.txt", "4 1:1\n4 1:2\n");
  write("bare.txt", "1\n2\n");
  write("unseen.txt", "3 1:1\n4 1:1\n");
  write("wide.txt", "3 1:1\n-5 1:1 3:1\n");
  write("sparse.txt", "1 1:1\n2 2147483647:1\n");
  write("delta.csv", "0,1\n1,0\n");
  expect_refusal("--train word.txt", "word.txt:2: '1:x' is not index:value");
  expect_refusal("--train label.txt", "label.txt:2: label '1.5'");
  expect_refusal("--train nan.txt", "nan.txt:2: ");
  expect_refusal("--train order.txt", "order.txt:2: index 1 after 2");
  expect_refusal("--train empty.txt", "empty.txt: there are no samples");
  expect_refusal("--train one.txt", "one.txt: all labels are 4");
  expect_refusal("--train bare.txt", "bare.txt: no sample has a feature");
  expect_refusal("--train nowhere.txt", "nowhere.txt: cannot read");
  expect_refusal("--train .", ".: cannot read");
  expect_refusal("--train good.txt --test unseen.txt",
                 "unseen.txt:2: label 4 is not one of the training file's");
  expect_refusal("--train good.txt --test wide.txt",
                 "wide.txt:2: index 3: the training file has only 2 features");
  expect_refusal("--train good.txt --test word.txt", "word.txt:1: label 1");
  expect_refusal("--train sparse.txt", "sparse.txt");
  expect_refusal("--train good.txt --delta delta.csv", "delta.csv");
  expect_refusal("--train good.txt --lambda 0", "lambda is 0");
  expect_refusal("--train good.txt --lambda -1", "lambda is -1");
  expect_refusal("--train good.txt --lambda nan", "lambda is nan");
  expect_refusal("--train good.txt --gap 0", "the gap is 0");
  expect_refusal("--train good.txt --max-epochs 0", "at least one");
  expect_refusal("--train good.txt --val 6", "val");
  expect_refusal("--train good.txt --mean 1,2,3", "mean has 3 values");
  expect_refusal("--data nowhere", "there is no data set or file 'nowhere'");
  EXPECT_EQ(run("svm --data synthetic --train good.txt").code, 2);
  EXPECT_EQ(run("svm --test good.txt").code, 2);
  const Outcome folder = run("svm --train good.txt -o no/such/folder.onnx");
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.err, HasSubstr("there is no folder"));
  const Outcome self = run("svm --train good.txt -o good.txt");
  EXPECT_EQ(self.code, 2);
  EXPECT_THAT(self.err, HasSubstr("would overwrite its input"));
  EXPECT_EQ(read_text(folder_ / "good.txt"), kTiny);
}

}  // namespace
}  // namespace lwsvm
