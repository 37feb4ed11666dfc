// What a well-behaved program owes its surroundings: links, devices, signals, limits, full disks, odd names,
// files of other versions.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <span>

#include "base/checkpoint.h"
#include "cli/foreign_files.h"
#include "cli/program.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "repetitions.h"

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
  const std::vector<std::string> deviations{"1e-20", "1e-37", "1e-10", "1e-30", "1e-36"};
  for (const std::string& deviation : std::span(deviations).first(std::size_t(repetitions(5, 2)))) {
    SCOPED_TRACE(deviation);
    TemporaryFolder folder;
    const Result trained =
        run(folder.path(), {"train", "--data", larger_data, "--arch", "conv4x3-relu-dense8-relu", "--std",
                            deviation, "--epochs", "0", "-q", "-o", "x.onnx"});
    if (trained.exit_code != 0) {  // its scores are infinite already; the file is there
      EXPECT_THAT(trained.err, HasSubstr("not a finite number"));
    }
    ASSERT_TRUE(fs::exists(folder / "x.onnx"));
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
  // Finite weights and activations, scores that are not. (A ReLU makes 0 of what is no number.)
  Overflowing() {
    make_network(folder_.path());
    Model model = read_onnx(folder_ / "base.onnx");
    for (float& w : model.graph.parameters()) w *= 1e16f;
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

TEST_F(Overflowing, NetworkIsNotTheResultOfATraining) {
  const Result result = run(folder_.path(), {"train", "--init", "bad.onnx", "--data", small_data, "--epochs",
                                             "0", "-o", "out.onnx"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("out.onnx is written, but its objective is not a finite number"));
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

// --- standard output ---

void print_to_a_full_disk() {
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0 || ::dup2(full, 1) < 0) ::_exit(98);
}

TEST(StandardOutput, ThatIsFullIsAnError) {
  TemporaryFolder folder;
  make_network(folder.path());
  for (const Arguments& arguments :
       {Arguments{"inspect", "base.onnx"}, Arguments{"inspect", "base.onnx", "--json"},
        Arguments{"eval", "base.onnx", "--data", small_data}, Arguments{"data", "list"},
        Arguments{"--version"}, Arguments{"train", "--help"}, train_to("net.onnx") + Arguments{"--json"}}) {
    const Result result = run(folder.path(), arguments, print_to_a_full_disk);
    EXPECT_EQ(result.exit_code, 2) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("could not be written to standard output: No space left"));
  }
  EXPECT_TRUE(fs::exists(folder / "net.onnx"));
}

TEST(StandardOutput, ThatIsClosedIsAnErrorAndDoesNotEndUpInAFile) {
  TemporaryFolder folder;
  ASSERT_EQ(run(folder.path(), train_to("plain.onnx")).exit_code, 0);
  const Result result =
      run(folder.path(), train_to("net.onnx") + Arguments{"--run", "run"}, [] { ::close(1); });
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("standard output"));
  EXPECT_TRUE(read_file(folder / "net.onnx") == read_file(folder / "plain.onnx"));
  EXPECT_THAT(read_file(folder / "run/log.jsonl"), StartsWith("{\"type\":\"run\""));
}

// --- signals ---

TEST(CtrlC, WhileLoadingEndsWithAWord) {
  TemporaryFolder folder;
  make_network(folder.path());
  const std::string much = "synthetic:n=400000,test=60,classes=3,size=8x8";
  for (const Arguments& arguments :
       {Arguments{"train", "--data", much, "--arch", small_net, "--run", "run", "-o", "out.onnx"},
        Arguments{"refine", "base.onnx", "--data", much, "--run", "run", "-o", "out.onnx"},
        Arguments{"svm", "--data", much, "-o", "out.onnx"}, Arguments{"eval", "base.onnx", "--data", much}}) {
    Process process(folder.path(), arguments);
    wait_until([&] { return process.handles(SIGINT); });
    process.send(SIGINT);
    const Result result = process.wait();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_THAT(result.err, HasSubstr("stopped while loading the data, before there was anything to write"));
    EXPECT_EQ(folder.entries(), 1u);
  }
}

TEST(CtrlC, WhileLambdaIsChosenEndsWithAWord) {
  TemporaryFolder folder;
  make_network(folder.path());
  Process process(folder.path(),
                  {"refine", "base.onnx", "--data", "synthetic:n=30000,test=60,classes=3,size=8x8",
                   "--lambda", "auto", "--run", "run", "-o", "out.onnx"});
  wait_until([&] { return process.err_so_far().find("lambda auto") != std::string::npos; });
  process.send(SIGINT);
  const Result result = process.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("stopped while choosing lambda"));
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Hangup, LeavesTheNetworkSoFar) {
  TemporaryFolder folder;
  Process process(folder.path(),
                  {"train", "--data", small_data, "--arch", small_net, "--epochs", "1000000", "--run", "run"},
                  checkpoint_always);
  wait_until([&] { return fs::exists(folder / "run/checkpoint.bin"); });
  process.send(SIGHUP);
  EXPECT_EQ(process.wait().exit_code, 129);
  EXPECT_EQ(run(folder.path(), {"inspect", "run/model.onnx"}).exit_code, 0);
}

// --- threads ---

// A thread's stack is as large as this, and so there can be hardly any.
void huge_stacks() {
  const rlimit limit{rlim_t{30} << 40, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_STACK, &limit) != 0) ::_exit(97);
}

TEST(FewThreads, GiveTheSameBitsAndAWord) {
#ifdef LWSVM_SANITIZED
  GTEST_SKIP() << "the sanitizers need the addresses that such stacks reserve; ThreadsDeathTest does without";
#endif
  TemporaryFolder folder;
  ASSERT_EQ(run(folder.path(), train_to("plain.onnx")).exit_code, 0);
  const Result result = run(folder.path(), train_to("few.onnx") + Arguments{"--threads", "8"}, huge_stacks);
  if (result.exit_code == 97) GTEST_SKIP() << "the limit of stacks cannot be raised here";
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("of 8 threads could be started"));
  EXPECT_TRUE(read_file(folder / "few.onnx") == read_file(folder / "plain.onnx"));
}

// --- leftovers and seeds ---

TEST(StaleFiles, OfKilledRunsGoWhenTheRunGoesOn) {
  TemporaryFolder folder;
  const Arguments train{"train", "--data", small_data, "--arch", small_net, "--epochs", "2", "--run", "run"};
  ASSERT_EQ(run(folder.path(), train).exit_code, 0);
  const auto put = [&](const std::string& name) { write_file_atomically(folder / ("run/" + name), "x"); };
  const pid_t nobody = ::fork();  // a process that is over
  if (nobody == 0) ::_exit(0);
  ::waitpid(nobody, nullptr, 0);
  const std::string stale = "checkpoint.bin.tmp" + std::to_string(nobody);
  const std::string alive = "report.html.tmp" + std::to_string(::getpid());
  for (const std::string& name : {stale, alive, std::string("notes.tmp"), std::string("notes.tmp12x")})
    put(name);
  ASSERT_EQ(run(folder.path(), {"train", "--resume", "run", "--epochs", "3"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder / ("run/" + stale)));
  EXPECT_TRUE(fs::exists(folder / ("run/" + alive))) << "its process still runs";
  EXPECT_TRUE(fs::exists(folder / "run/notes.tmp"));
  EXPECT_TRUE(fs::exists(folder / "run/notes.tmp12x"));
}

TEST(Seeds, AreWholeNumbersThatFit) {
  TemporaryFolder folder;
  make_network(folder.path());
  const std::vector<Arguments> commands{
      {"train", "--data", small_data, "--arch", small_net, "--epochs", "0", "-o", "x.onnx"},
      {"refine", "base.onnx", "--data", small_data, "--passes", "0", "-o", "x.onnx"},
      {"svm", "--data", small_data}};
  for (const Arguments& command : commands)
    for (const std::string option : {"--seed", "--split-seed"}) {
      for (const char* bad : {"-1", "99999999999999999999", "18446744073709551616", "1.5", "x", ""}) {
        const Result result = run(folder.path(), command + Arguments{option + "=" + bad});
        EXPECT_EQ(result.exit_code, 2) << option << " " << bad;
        EXPECT_THAT(result.err, HasSubstr(option));
      }
      EXPECT_EQ(run(folder.path(), command + Arguments{option + "=18446744073709551615"}).exit_code, 0);
    }
}

// So large a lambda that rounding decides the sign of what is left of the gap.
TEST(ClosedGaps, AreNotShownBelowZero) {
  TemporaryFolder folder;
  make_network(folder.path());
  for (const char* lambda : {"10", "100", "1000"}) {
    const Result result = run(folder.path(), {"refine", "base.onnx", "--data", small_data, "--lambda", lambda,
                                              "--moves", "layers", "--passes", "3", "-o", "out.onnx"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("gap 0.00000"));
    EXPECT_THAT(result.err, Not(HasSubstr("-0.00000")));
  }
}

// --- names ---

TEST(OddNames, ThatAreNotUtf8WorkEverywhere) {
  TemporaryFolder folder;
  const std::string base = "b\xff\xfe.onnx", better = "c\xe9.onnx";
  make_network(folder.path(), base);
  const Result refined = run(folder.path(), {"refine", base, "--data", small_data, "--passes", "1",
                                             "--centre", "start", "--run", "r\xff", "-o", better, "--json"});
  ASSERT_EQ(refined.exit_code, 0) << refined.err;
  EXPECT_TRUE(refined.value().contains("model"));
  EXPECT_TRUE(fs::exists(folder / better));
  for (const Arguments& arguments :
       {Arguments{"eval", better, "--data", small_data, "--json"}, Arguments{"inspect", better, "--json"},
        Arguments{"refine", "--resume", "r\xff", "--json"},
        Arguments{"train", "--init", better, "--data", small_data, "--epochs", "1", "--run", "t\xff",
                  "--json"},
        Arguments{"train", "--resume", "t\xff", "--epochs", "2", "--json"},
        Arguments{"svm", "--data", small_data, "-o", "s\xff.onnx", "--json"}}) {
    const Result result = run(folder.path(), arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments[0] << ": " << result.err;
    if (result.exit_code == 0) {
      EXPECT_TRUE(result.value().is_object());
    }
  }
}

TEST(OddNames, ThatAreTooLongAreRefusedByName) {
  TemporaryFolder folder;
  make_network(folder.path());
  const std::string name(300, 'n');
  for (const Arguments& arguments :
       {Arguments{"eval", name, "--data", small_data}, Arguments{"eval", "base.onnx", "--data", name},
        Arguments{"inspect", name}, Arguments{"refine", name, "--data", small_data},
        Arguments{"refine", "base.onnx", "--data", small_data, "--centre", name},
        Arguments{"refine", "base.onnx", "--data", small_data, "--run", name},
        Arguments{"refine", "--resume", name}, Arguments{"train", "--init", name, "--data", small_data},
        Arguments{"train", "--data", small_data, "--run", name}, Arguments{"svm", "--train", name},
        Arguments{"data", "list", "--data-dir", name}, Arguments{"report", name, "-o", "r.html"}}) {
    const Result result = run(folder.path(), arguments);
    if (arguments[0] == "data") {
      EXPECT_NE(result.exit_code, 1) << result.err;
      continue;
    }
    EXPECT_EQ(result.exit_code, 2) << arguments[0] << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(name));
  }
}

TEST(DeletedWorkingFolder, IsSaidClearly) {
  TemporaryFolder folder;
  make_network(folder.path());
  fs::create_directory(folder / "gone");
  const std::string base = (folder / "base.onnx").string();
  for (const Arguments& arguments :
       {Arguments{"refine", base, "--data", small_data, "--run", "run"},
        Arguments{"train", "--data", small_data, "--run", "run"},
        Arguments{"refine", base, "--data", small_data, "-o", "x.onnx", "--centre", "start"}}) {
    fs::create_directory(folder / "gone");
    const Result result = run(folder / "gone", arguments, [&] { ::rmdir((folder / "gone").c_str()); });
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("internal error")));
  }
}

// --- checkpoints that are not what they seem ---

void little_time() {
  const rlimit limit{20, 20};  // of the processor, in seconds: a loop ends
  ::setrlimit(RLIMIT_CPU, &limit);
}

class StrangeCheckpoint : public testing::Test {
 protected:
  // A run that was stopped in its midst.
  void begin(const Arguments& arguments) {
    Process process(folder_.path(), arguments + Arguments{"--run", "run", "-o", "out.onnx"},
                    checkpoint_always);
    wait_until([&] { return fs::exists(path()) && !process.err_so_far().empty(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    process.send(SIGTERM);
    ASSERT_EQ(process.wait().exit_code, 143);
    bytes_ = read_file(path());
  }
  void begin_refinement(const std::string& moves) {
    make_network(folder_.path(), "base.onnx", small_net, larger_data);
    begin({"refine", "base.onnx", "--data", larger_data, "--moves", moves, "--passes", "100000", "--patience",
           "100000", "--gap", "1e-9", "--max-epochs", "100000"});
  }

  fs::path path() const { return folder_ / "run/checkpoint.bin"; }

  void expect_refused(const std::string& command, const std::function<void(Checkpoint&)>& change,
                      const std::string& saying = "checkpoint") {
    write_file_atomically(path(), bytes_);
    Checkpoint checkpoint = Checkpoint::load(path());
    change(checkpoint);
    checkpoint.save(path());
    const Result result = run(folder_.path(), {command, "--resume", "run"}, little_time);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(saying));
    EXPECT_THAT(result.err, Not(HasSubstr("internal error")));
  }
  template <typename T>
  static auto with(const std::string& name, const std::function<void(std::vector<T>&)>& change) {
    return [=](Checkpoint& checkpoint) {
      std::vector<T> values = checkpoint.take<T>(name);
      change(values);
      checkpoint.put(name, values);
    };
  }
  template <typename T>
  static auto with(const std::string& name, std::size_t index, T value) {
    return with<T>(name, [=](std::vector<T>& values) { values.at(index) = value; });
  }

  TemporaryFolder folder_;
  std::string bytes_;
};

TEST_F(StrangeCheckpoint, OfAnotherVersionIsNamedSo) {
  begin({"train", "--data", small_data, "--arch", small_net, "--epochs", "1000000"});
  const auto settings = [](const std::function<void(json&)>& change) {
    return [=](Checkpoint& checkpoint) { change(checkpoint.meta()["settings"]); };
  };
  const std::string saying = "another version of lwsvm";
  expect_refused("train", settings([](json& s) { s.erase("batch"); }), saying);
  expect_refused("train", settings([](json& s) { s["batch"] = "many"; }), saying);
  expect_refused("train", settings([](json& s) { s = 3; }), saying);
  expect_refused(
      "train", [](Checkpoint& c) { c.meta().erase("settings"); }, saying);
  expect_refused(
      "train", [](Checkpoint& c) { c.meta().erase("log_offset"); }, saying);
  expect_refused(
      "train", [](Checkpoint& c) { c.meta()["working_folder"] = 5; }, saying);
  expect_refused(
      "train", [](Checkpoint& c) { c.meta() = json::array(); }, saying);
}

TEST_F(StrangeCheckpoint, OfATrainingIsRefused) {
  begin({"train", "--data", small_data, "--arch", small_net, "--epochs", "1000000"});
  expect_refused("train", with<std::uint64_t>("trainer.position", 0, std::uint64_t{1} << 40));
  expect_refused("train", with<std::uint64_t>("trainer.position", 1, std::uint64_t{1} << 63));
  expect_refused("train", with<std::uint64_t>("trainer.position", 1, 1000000));
}

TEST_F(StrangeCheckpoint, OfALayerUpdateIsRefused) {
  begin_refinement("layers");
  for (const char* name : {"refine.parameters", "refine.best_parameters", "refine.start_parameters"})
    for (std::size_t size : {0, 5, 100000})
      expect_refused("refine", with<float>(name, [=](std::vector<float>& v) { v.resize(size); }));
  for (std::size_t count = 0; count < 12; ++count)
    if (count != 0 && count != 7)  // yes or no
      expect_refused("refine", with<std::int32_t>("refine.counts", count, -1));
  expect_refused("refine", with<std::int32_t>("refine.counts", 2, 17));
  expect_refused("refine", with<std::int32_t>("refine.counts", 8, 17));
  expect_refused("refine", with<std::int32_t>("refine.counts", 11, 17));
  expect_refused("refine", with<std::int32_t>("refine.counts", 11, 0));
  expect_refused("refine", with<std::uint64_t>("solve.level", 0, 1000));
  expect_refused("refine", with<std::uint64_t>("solve.level", 0, UINT64_MAX));
  expect_refused("refine", with<std::uint64_t>("solver.random", [](std::vector<std::uint64_t>& state) {
                   std::ranges::fill(state, 0);
                 }));
}

TEST_F(StrangeCheckpoint, OfASweepIsRefused) {
  begin_refinement("sweeps");
  const bool under_way = Checkpoint::load(path()).get<std::uint64_t>("sweep.under_way", 1)[0] != 0;
  if (!under_way) return;  // stopped in the race for eta: there is nothing to be wrong
  expect_refused("refine", with<std::uint64_t>("sweep.counts", 1, std::uint64_t{1} << 63));
  expect_refused("refine", with<std::uint64_t>("sweep.counts", 1, 100000));
  expect_refused("refine", with<std::uint64_t>("sweep.counts", 2, UINT64_MAX));
  expect_refused("refine", with<std::uint64_t>("sweep.counts", 3, UINT64_MAX));
  expect_refused("refine", with<std::uint64_t>("sweep.counts", 4, 0));
}

}  // namespace
}  // namespace lwsvm::cli
