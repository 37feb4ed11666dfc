// A file that cannot be written is not half written.
#include <gmock/gmock.h>

#include "cli/program.h"

namespace lwsvm::cli {
namespace {

using testing::HasSubstr;

// As on a full disk: no file grows beyond 4 KB.
void small_files_only() {
  const rlimit limit{4096, 4096};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, SIG_IGN);  // write() fails instead
}

// Some 100 KB.
const Arguments train_large{"train",    "--data", small_data, "--arch", "dense400-relu",
                            "--epochs", "1",      "-q",       "-o",     "net.onnx"};

TEST(FullDisk, LeavesNoHalfFile) {
  TemporaryFolder folder;
  const Result result = run(folder.path(), train_large, small_files_only);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("net.onnx: cannot write"));
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(FullDisk, LeavesTheOldFileAsItWas) {
  TemporaryFolder folder;
  make_network(folder.path(), "net.onnx");
  const std::string before = read_file(folder / "net.onnx");
  EXPECT_NE(run(folder.path(), train_large, small_files_only).exit_code, 0);
  EXPECT_EQ(read_file(folder / "net.onnx"), before);
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FullDisk, LeavesNoHalfCheckpoint) {
  TemporaryFolder folder;
  const Result result = run(folder.path(), train_large + Arguments{"--run", "run"}, small_files_only);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("checkpoint.bin"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run/checkpoint.bin"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "run"), {}), 1);  // the log
}

}  // namespace
}  // namespace lwsvm::cli
