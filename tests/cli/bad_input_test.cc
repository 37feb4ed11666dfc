// Bad input: exit code 2, one message that names the thing, and nothing is written.
#include <gmock/gmock.h>

#include <limits>

#include "cli/program.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class BadInput : public testing::Test {
 protected:
  BadInput() { make_network(folder_.path()); }

  // Not even an empty run folder is left behind. Messages of several lines are indented under the first.
  Result expect_refused(const Arguments& arguments) {
    const std::size_t before = folder_.entries();
    const Result result = run(folder_.path(), arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.substr(0, 7), "lwsvm: ") << result.err;
    for (std::size_t at = 0;
         (at = result.err.find('\n', at)) != std::string::npos && ++at < result.err.size();)
      EXPECT_EQ(result.err.substr(at, 7), "       ") << "more than one message: " << result.err;
    EXPECT_EQ(folder_.entries(), before) << "something was written";
    return result;
  }
  void expect_refused(const Arguments& arguments, const std::string& saying) {
    EXPECT_THAT(expect_refused(arguments).err, HasSubstr(saying));
  }
  Arguments refine(const Arguments& more) {
    return Arguments{"refine", "base.onnx", "--data", small_data, "--run", "run"} + more;
  }
  Arguments train(const Arguments& more) {
    return Arguments{"train", "--arch", small_net, "--epochs", "1", "--run", "run"} + more;
  }
  void write(const std::string& name, const std::string& content) {
    write_file_atomically(folder_ / name, content);
  }

  TemporaryFolder folder_;
};

TEST_F(BadInput, UnknownDataSet) {
  expect_refused(train({"--data", "fasion-mnist"}), "did you mean fashion-mnist?");
}

TEST_F(BadInput, UnknownSolver) {
  expect_refused(train({"--data", small_data, "--solver", "adma"}), "adam");
}

TEST_F(BadInput, UnknownLoss) {
  expect_refused(train({"--data", small_data, "--loss", "hinges"}), "hinge");
}

TEST_F(BadInput, ArchTokenIsPointedAt) {
  const Result result = expect_refused(
      {"train", "--data", small_data, "--arch", "conv4x3-reul-pool2", "--run", "run", "-o", "net.onnx"});
  const std::size_t line_end = result.err.find('\n');
  const std::size_t token = result.err.find("reul");
  const std::size_t caret = result.err.find('^');
  ASSERT_LT(token, line_end);
  ASSERT_NE(caret, std::string::npos) << result.err;
  EXPECT_EQ(caret - (line_end + 1), token) << result.err;
}

TEST_F(BadInput, TruncatedIdxFolder) {
  fs::create_directory(folder_ / "idx");
  const std::string images{'\0', '\0', '\x08', '\x03', '\0', '\0', '\0', '\x0a',
                           '\0', '\0', '\0',   '\x08', '\0', '\0', '\0', '\x08'};
  const std::string labels{'\0', '\0', '\x08', '\x01', '\0', '\0', '\0', '\x0a'};
  write("idx/train-images-idx3-ubyte", images + std::string(100, 'x'));
  write("idx/train-labels-idx1-ubyte", labels + std::string("\0\1\2\0\1\2\0\1\2\0", 10));
  expect_refused(train({"--data", "idx"}), "train-images-idx3-ubyte");
}

TEST_F(BadInput, EmptyDataFolder) {
  fs::create_directory(folder_ / "empty");
  expect_refused(train({"--data", "empty"}), "empty");
}

TEST_F(BadInput, NetworkOfAnotherShapeNamesBothShapes) {
  for (const char* command : {"eval", "refine"}) {
    const Result result =
        expect_refused({command, "base.onnx", "--data", "synthetic:n=300,classes=3,size=12x10"});
    EXPECT_THAT(result.err, HasSubstr("8x8"));
    EXPECT_THAT(result.err, HasSubstr("12x10"));
  }
}

TEST_F(BadInput, NetworkOfOtherClassesNamesBothCounts) {
  for (const char* command : {"eval", "refine"}) {
    const Result result =
        expect_refused({command, "base.onnx", "--data", "synthetic:n=300,classes=5,size=8x8"});
    EXPECT_THAT(result.err, HasSubstr("3 classes"));
    EXPECT_THAT(result.err, HasSubstr("has 5"));
  }
}

TEST_F(BadInput, LambdaThatIsNotPositive) {
  for (const char* lambda : {"0", "-1", "nan", "inf", "x"})
    expect_refused(refine({std::string("--lambda=") + lambda}), "lambda");
}

TEST_F(BadInput, OptionsOutOfRange) {
  expect_refused(refine({"--passes=-1"}), "passes");
  expect_refused(refine({"--gap=2"}), "gap");
  expect_refused(refine({"--batch=0"}), "batch");
  expect_refused(refine({"--max-epochs=0"}), "epochs");
  expect_refused(refine({"--time-limit=soon"}), "time-limit");
  expect_refused(refine({"--memory=lots"}), "memory");
  expect_refused(refine({"--search=everything"}), "everything");
}

// Before the data are read, which may take long, and before anything is tried.
TEST_F(BadInput, WordsOfRefineAreCheckedBeforeTheData) {
  const auto refine_nothing = [](const char* option) {
    return Arguments{"refine", "base.onnx", "--data", "no-such-data.npz", option};
  };
  expect_refused(refine_nothing("--layers=svn"), "svn");
  expect_refused(refine_nothing("--lambda=-1"), "lambda");
  expect_refused(refine_nothing("--moves=all"), "moves");
  expect_refused(refine_nothing("--time-limit=soon"), "time-limit");
  expect_refused(refine_nothing("--gap=2"), "gap");
  expect_refused(refine_nothing("--layers=svm"), "no-such-data.npz");
}

TEST_F(BadInput, DeltaOfTheWrongSize) {
  write("delta.csv", "0,1\n1,0\n");
  expect_refused(refine({"--delta", "delta.csv"}), "delta.csv");
}

TEST_F(BadInput, DeltaWithANegativeMargin) {
  write("delta.csv", "0,1,1\n1,0,-1\n1,1,0\n");
  expect_refused(refine({"--delta", "delta.csv"}), "not negative");
}

TEST_F(BadInput, DeltaWithADiagonal) {
  write("delta.csv", "0,1,1\n1,0.5,1\n1,1,0\n");
  expect_refused(refine({"--delta", "delta.csv"}), "the diagonal must be 0");
}

TEST_F(BadInput, MissingFiles) {
  expect_refused({"eval", "none.onnx", "--data", small_data}, "none.onnx");
  expect_refused({"inspect", "none.onnx"}, "none.onnx");
  expect_refused({"refine", "none.onnx", "--data", small_data, "--run", "run"}, "none.onnx");
  expect_refused({"train", "--init", "none.onnx", "--data", small_data, "--run", "run"}, "none.onnx");
  expect_refused(refine({"--delta", "none.csv"}), "none.csv");
}

TEST_F(BadInput, FolderAsANetwork) {
  fs::create_directory(folder_ / "folder.onnx");
  expect_refused({"eval", "folder.onnx", "--data", small_data}, "folder.onnx");
}

TEST_F(BadInput, HtmlPageAsANetwork) {
  write("page.onnx", "<!DOCTYPE html>\n<html><head><title>404</title></head><body>Not found</body></html>\n");
  expect_refused({"eval", "page.onnx", "--data", small_data}, "page.onnx");
  expect_refused({"refine", "page.onnx", "--data", small_data, "--run", "run"}, "page.onnx");
}

TEST_F(BadInput, TruncatedNetwork) {
  const std::string whole = read_file(folder_ / "base.onnx");
  for (std::size_t part = 0; part < 8; ++part) {
    write("cut.onnx", whole.substr(0, part * whole.size() / 8));
    expect_refused({"eval", "cut.onnx", "--data", small_data}, "cut.onnx");
  }
}

TEST_F(BadInput, WeightsThatAreNotNumbers) {
  for (float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Model model = read_onnx(folder_ / "base.onnx");
    model.graph.parameters().back() = value;
    write_onnx(model, folder_ / "bad.onnx");
    expect_refused({"refine", "bad.onnx", "--data", small_data, "--run", "run"}, "not finite");
    expect_refused({"eval", "bad.onnx", "--data", small_data}, "not finite");
    expect_refused({"train", "--init", "bad.onnx", "--data", small_data, "--run", "run"}, "not finite");
  }
}

TEST_F(BadInput, UnknownLayerListsTheKnown) {
  expect_refused(refine({"--layers", "svm,conv9"}), "conv1,dense1,svm");
  EXPECT_THAT(expect_refused(refine({"--layers", "conv9"})).err, HasSubstr("'conv9'"));
}

TEST_F(BadInput, ResumeOfAnEmptyFolder) {
  fs::create_directory(folder_ / "empty");
  for (const char* command : {"train", "refine"})
    expect_refused({command, "--resume", "empty"}, "no checkpoint");
  EXPECT_TRUE(fs::is_empty(folder_ / "empty"));
}

TEST_F(BadInput, ResumeOfAnotherCommandsRun) {
  ASSERT_EQ(run(folder_.path(), train({"--data", small_data})).exit_code, 0);
  expect_refused({"refine", "--resume", "run"}, "is not a run of `lwsvm refine`");
}

TEST_F(BadInput, ResumeOfADamagedCheckpoint) {
  ASSERT_EQ(run(folder_.path(), train({"--data", small_data})).exit_code, 0);
  std::string bytes = read_file(folder_ / "run/checkpoint.bin");
  bytes[bytes.size() / 2] ^= 1;
  write("run/checkpoint.bin", bytes);
  expect_refused({"train", "--resume", "run"}, "checkpoint.bin");
}

TEST_F(BadInput, OutputIntoAFolderThatIsNotThere) {
  expect_refused(train({"--data", small_data, "-o", "none/net.onnx"}), "there is no folder none");
  expect_refused(refine({"-o", "none/net.onnx"}), "there is no folder none");
}

TEST_F(BadInput, OutputThatIsAFolder) {
  fs::create_directory(folder_ / "folder");
  expect_refused(train({"--data", small_data, "-o", "folder"}), "folder is a folder");
  expect_refused(refine({"-o", "folder"}), "folder is a folder");
}

TEST_F(BadInput, UnknownSplit) {
  expect_refused({"eval", "base.onnx", "--data", small_data, "--split", "vla"}, "val");
}

TEST_F(BadInput, UnknownCommandOrOption) {
  for (const Arguments& arguments :
       {Arguments{"trian"}, Arguments{"eval", "base.onnx", "--sliptseed", "3"}, Arguments{}}) {
    const Result result = run(folder_.path(), arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err, "");
  }
}

}  // namespace
}  // namespace lwsvm::cli
