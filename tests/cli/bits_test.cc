// The same bits, whatever the number of threads.
#include <gmock/gmock.h>

#include "cli/program.h"

namespace lwsvm::cli {
namespace {

class SameBits : public testing::TestWithParam<const char*> {
 protected:
  // The file that the program writes with so many threads.
  std::string written(Arguments arguments, const char* threads) {
    const Result result =
        run(folder_.path(), arguments + Arguments{"--threads", threads, "-q", "-o", "written.onnx"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_file(folder_ / "written.onnx");
  }
  void expect_same(const Arguments& arguments) {
    const std::string once = written(arguments, "1");
    EXPECT_TRUE(once == written(arguments, "1")) << "twice with one thread";
    EXPECT_TRUE(once == written(arguments, "2")) << "one thread and two";
  }

  TemporaryFolder folder_;
};

TEST_P(SameBits, FromTrain) {
  expect_same(
      {"train", "--data", small_data, "--arch", GetParam(), "--epochs", "2", "--batch", "64", "--seed", "3"});
}

TEST_P(SameBits, FromRefine) {
  make_network(folder_.path(), "base.onnx", GetParam());
  expect_same({"refine", "base.onnx", "--data", small_data, "--passes", "1", "--keep", "last"});
}

INSTANTIATE_TEST_SUITE_P(Nets, SameBits,
                         testing::Values("conv4x3-relu-pool2-dense8-relu",
                                         "conv4x3-bn-relu-pool2-dense8-bn-relu"));

TEST(Seed, ChangesTheNetwork) {
  TemporaryFolder folder;
  make_network(folder.path(), "a.onnx", small_net, small_data, "1");
  make_network(folder.path(), "b.onnx", small_net, small_data, "2");
  EXPECT_FALSE(read_file(folder / "a.onnx") == read_file(folder / "b.onnx"));
}

}  // namespace
}  // namespace lwsvm::cli
