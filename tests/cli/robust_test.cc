// What a well-behaved program owes its surroundings: links, devices, signals, limits, full disks, odd names,
// files of other versions.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>

#include "base/checkpoint.h"
#include "cli/foreign_files.h"
#include "cli/program.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string larger_data = "synthetic:n=600,test=60,classes=3,size=8x8";

Arguments train_to(const std::string& output) {
  return {"train", "--data", small_data, "--arch", small_net, "--epochs", "1", "-q", "-o", output};
}

void wait_until(const std::function<bool()>& condition) {
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition() && std::chrono::steady_clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

// --- numbers that are too large ---

TEST(HugeActivations, AreRefinedOrRefused) {
  for (const char* deviation : {"1e-10", "1e-20", "1e-30", "1e-36", "1e-37"}) {
    SCOPED_TRACE(deviation);
    TemporaryFolder folder;
    const Result trained =
        run(folder.path(), {"train", "--data", larger_data, "--arch", "conv4x3-relu-dense8-relu", "--std",
                            deviation, "--epochs", "0", "-q", "-o", "x.onnx"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    for (const Arguments& more : {Arguments{},
                                  {"--moves", "layers", "--search", "full"},
                                  {"--mode", "paper"},
                                  {"--lambda", "auto"}}) {
      const Result refined =
          run(folder.path(), Arguments{"refine", "x.onnx", "--data", larger_data, "--passes", "2",
                                       "--max-epochs", "5", "-o", "y.onnx"} +
                                 more);
      if (refined.exit_code == 2) {
        EXPECT_THAT(refined.err, AnyOf(HasSubstr("too large for float32"), HasSubstr("not a finite number")));
        continue;
      }
      ASSERT_EQ(refined.exit_code, 0) << refined.err;
      const Model model = read_onnx(folder / "y.onnx");
      for (float w : model.graph.parameters()) ASSERT_TRUE(std::isfinite(w));
    }
  }
}

class Overflowing : public testing::Test {
 protected:
  // Finite weights, scores that are not.
  Overflowing() {
    make_network(folder_.path());
    Model model = read_onnx(folder_ / "base.onnx");
    for (float& w : model.graph.parameters()) w *= 1e30f;
    write_onnx(model, folder_ / "bad.onnx");
  }

  TemporaryFolder folder_;
};

TEST_F(Overflowing, NetworkHasNoResult) {
  for (const Arguments& more : {Arguments{}, Arguments{"--json"}, Arguments{"--loss", "ce"}}) {
    const Result result = run(folder_.path(), Arguments{"eval", "bad.onnx", "--data", small_data} + more);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("bad.onnx: the loss on the test samples of synthetic is not a finite"));
  }
}

TEST_F(Overflowing, NetworkIsNotRefined) {
  const Result result = run(folder_.path(), {"refine", "bad.onnx", "--data", small_data, "--run", "run"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("bad.onnx: the loss on the training samples is not a finite number"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

}  // namespace
}  // namespace lwsvm::cli
