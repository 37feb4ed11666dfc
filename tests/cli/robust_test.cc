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

// --- where the result goes ---

TEST(Output, IsWrittenThroughALink) {
  TemporaryFolder folder;
  fs::create_directory(folder / "real");
  write_file_atomically(folder / "real/net.onnx", "old");
  fs::create_symlink("real/net.onnx", folder / "link.onnx");
  fs::create_symlink("real/new.onnx", folder / "dangling.onnx");
  for (const char* name : {"link.onnx", "dangling.onnx"}) {
    const Result result = run(folder.path(), train_to(name));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(fs::is_symlink(folder / name));
    EXPECT_EQ(run(folder.path(), {"inspect", name}).exit_code, 0);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "real"), {}), 2);
}

TEST(Output, GoesIntoAFifo) {
  TemporaryFolder folder;
  ASSERT_EQ(run(folder.path(), train_to("plain.onnx")).exit_code, 0);
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = read_file(folder / "fifo"); });
  const Result result = run(folder.path(), train_to("fifo"));
  if (result.exit_code != 0) {  // nobody has opened the other end: the reader waits for one
    const int end = ::open((folder / "fifo").c_str(), O_WRONLY | O_NONBLOCK);
    if (end >= 0) ::close(end);
  }
  reader.join();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::is_fifo(folder / "fifo"));
  EXPECT_TRUE(received == read_file(folder / "plain.onnx"));
}

TEST(Output, LeavesADeviceWhereItIs) {
  TemporaryFolder folder;
  if (::mknod((folder / "null").c_str(), S_IFCHR | 0666, (1 << 8) | 3) != 0)  // never /dev/null itself
    GTEST_SKIP() << "only root makes devices";
  const Result result = run(folder.path(), train_to("null"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::is_character_file(folder / "null"));
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Output, ThatCannotBeWrittenIsFoundBeforeTheWork) {
  TemporaryFolder folder;
  make_network(folder.path());
  fs::create_symlink("none/net.onnx", folder / "nowhere.onnx");
  fs::create_symlink("circle.onnx", folder / "circle.onnx");
  std::vector<std::string> outputs{"nowhere.onnx", "circle.onnx", std::string(300, 'x') + ".onnx",
                                   "/proc/net.onnx"};
  if (::geteuid() != 0) {  // for root every folder is open
    fs::create_directory(folder / "locked");
    fs::permissions(folder / "locked", fs::perms::owner_read | fs::perms::owner_exec);
    outputs.push_back("locked/net.onnx");
  }
  for (const std::string& output : outputs)
    for (const Arguments& arguments :
         {Arguments{"train", "--data", small_data, "--arch", small_net, "--epochs", "100000"},
          Arguments{"refine", "base.onnx", "--data", small_data}, Arguments{"svm", "--data", small_data}}) {
      const Result result = run(folder.path(), arguments + Arguments{"-o", output});
      EXPECT_EQ(result.exit_code, 2) << output;
      EXPECT_THAT(result.err, HasSubstr(output));
      EXPECT_THAT(result.err, Not(HasSubstr("epoch"))) << "work was done";
      EXPECT_THAT(result.err, Not(HasSubstr("internal error")));
    }
}

TEST(Output, MayHaveTheLongestNameThereIs) {
  TemporaryFolder folder;
  const std::string name = std::string(250, 'x') + ".onnx";
  const Result result = run(folder.path(), train_to(name));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::exists(folder / name));
  EXPECT_EQ(folder.entries(), 1u);
}

// --- threads ---

// A thread's stack is as large as this, and so there can be hardly any.
void huge_stacks() {
  const rlimit limit{rlim_t{30} << 40, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_STACK, &limit) != 0) ::_exit(97);
}

TEST(FewThreads, GiveTheSameBitsAndAWord) {
  TemporaryFolder folder;
  ASSERT_EQ(run(folder.path(), train_to("plain.onnx")).exit_code, 0);
  const Result result = run(folder.path(), train_to("few.onnx") + Arguments{"--threads", "8"}, huge_stacks);
  if (result.exit_code == 97) GTEST_SKIP() << "the limit of stacks cannot be raised here";
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("of 8 threads could be started"));
  EXPECT_TRUE(read_file(folder / "few.onnx") == read_file(folder / "plain.onnx"));
}

}  // namespace
}  // namespace lwsvm::cli
