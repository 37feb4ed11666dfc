// lwsvm refine under mpirun: as a user would run it.
#include <gmock/gmock.h>

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "base/random.h"
#include "cli/never_rises.h"
#include "cli/program.h"
#include "data/made_files.h"
#include "data/made_photos.h"
#include "judge.h"
#include "report/run_log.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

const std::string kData = "synthetic:n=300,test=60,classes=4,size=8x8";

bool has_mpi() {
  return std::string(LWSVM_MPIRUN) != "";  // as CMake has found
}

// More ranks than cores, and root, need mpirun's leave.
void allow() {
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
  ::setenv("OMPI_MCA_btl_base_warn_component_unused", "0", 1);
  ::setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);  // containers forbid what it tries first
}
void allow_and_save_always() {
  allow();
  checkpoint_always();
}

Arguments ranks(int count) {
  return {"-n", std::to_string(count), LWSVM_BINARY};
}

std::vector<json> records(const fs::path& log, const std::string& type) {
  std::vector<json> found;
  for (const auto& record : read_run_log(log).records)
    if (record["type"] == type) found.push_back(record);
  return found;
}

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpi()) LWSVM_NO_JUDGE() << "built without MPI, or mpirun is not installed";
    make_network(folder_.path(), "base.onnx", small_net, kData);
  }

  Arguments refine(const std::string& name, const Arguments& more = {},
                   const std::string& passes = "1") const {
    return Arguments{"refine", "base.onnx",    "--data", kData,          "--passes", passes,      "--batch",
                     "50",     "--max-epochs", "4",      "--keep",       "last",     "--threads", "1",
                     "--run",  name,           "-o",     name + ".onnx", "--json"} +
           more;
  }
  Result mpirun(const Arguments& arguments, void (*prepare)() = allow) const {
    return run(folder_.path(), arguments, prepare, LWSVM_MPIRUN);
  }
  std::string bytes(const std::string& name) const { return read_file(folder_ / (name + ".onnx")); }
  fs::path log(const std::string& name) const { return folder_ / name / "log.jsonl"; }

  TemporaryFolder folder_;
};

TEST_F(Mpi, OneRankIsThePlainProgram) {
  ASSERT_EQ(run(folder_.path(), refine("plain")).exit_code, 0);
  const Result result = mpirun(ranks(1) + refine("one"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(bytes("one"), bytes("plain"));
}

TEST_F(Mpi, TheSameNumberOfRanksGivesTheSameBits) {
  for (const char* name : {"first", "second"}) {
    const Result result = mpirun(ranks(3) + refine(name));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(bytes("first"), bytes("second"));
}

// Two solutions of the same convex problem are no further apart than their gaps say.
TEST_F(Mpi, AnyNumberOfRanksComesToThePrimalOfOneWithinTheGap) {
  const Arguments how{"refine",   "base.onnx", "--data", kData,  "--layers",     "svm", "--moves",   "layers",
                      "--passes", "1",         "--gap",  "0.05", "--max-epochs", "200", "--threads", "1"};
  std::vector<json> updates;
  for (const int count : {1, 2, 3}) {
    const std::string name = "svm" + std::to_string(count);
    const Result result = mpirun(ranks(count) + how + Arguments{"--run", name, "-o", name + ".onnx"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    updates.push_back(records(log(name), "update").front());
    const json &update = updates.back(), &alone = updates.front();
    EXPECT_TRUE(update["accepted"]);
    EXPECT_LE(std::abs(update["primal"].get<double>() - alone["primal"].get<double>()),
              std::max(update["gap"].get<double>(), alone["gap"].get<double>()));
  }
}

// The layers' certificates hold.
TEST_F(Mpi, AnyNumberOfRanksKeepsTheCertificate) {
  const Result plain = run(folder_.path(), refine("plain", {"--moves", "layers"}));
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  const double start = plain.value()["start"]["objective"];
  for (const int count : {2, 4}) {
    const std::string name = "ranks" + std::to_string(count);
    const Result result = mpirun(ranks(count) + refine(name, {"--moves", "layers"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json value = result.value();
    EXPECT_NEAR(value["start"]["objective"], start, 1e-6 * start);  // sums in another order
    EXPECT_EQ(value["rises"], 0);
    EXPECT_LT(value["objective"], start);
    expect_never_rises(log(name), value["start"]["objective"], 3);
    for (const json& inner : records(log(name), "inner")) EXPECT_GE(inner["gap"], 0) << inner;
    for (const json& update : records(log(name), "update"))
      EXPECT_NEAR(update["primal"].get<double>() - update["dual"].get<double>(), update["gap"], 1e-6)
          << update;
    const std::vector<json> times = records(log(name), "ranks");
    ASSERT_EQ(times.size(), 1u);
    ASSERT_EQ(times[0]["ranks"].size(), static_cast<std::size_t>(count));
    std::set<std::string> names;
    for (const json& rank : times[0]["ranks"]) {
      names.insert(rank["rank"]);
      EXPECT_GT(rank["bytes_sent"], 0);
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(count));
  }
}

// Also with copies, float pixels, and parts that come with the data.
TEST_F(Mpi, DataOfEveryKindAreShared) {
  Random random(1);
  std::vector<test::ZipMemberBytes> arrays;
  for (const auto& [part, count] : {std::pair("train", 101), std::pair("val", 31), std::pair("test", 17)}) {
    std::vector<float> pixels;
    std::vector<std::int64_t> labels;
    for (int i = 0; i < count; ++i) {
      labels.push_back(i % 4);
      for (int p = 0; p < 64; ++p) pixels.push_back(static_cast<float>(random.normal()));
    }
    arrays.push_back({fmt::format("x_{}.npy", part),
                      test::npy("<f4", fmt::format("({}, 8, 8)", count), test::raw(pixels))});
    arrays.push_back(
        {fmt::format("y_{}.npy", part), test::npy("<i8", fmt::format("({},)", count), test::raw(labels))});
  }
  std::ofstream(folder_ / "mine.npz", std::ios::binary) << test::zip(arrays, false);
  std::vector<json> starts;
  for (const int count : {1, 3}) {
    const Result result = mpirun(
        ranks(count) + Arguments{"refine", "base.onnx", "--data", "mine.npz", "--augment", "flip", "--passes",
                                 "1", "--threads", "1", "--max-epochs", "2", "-o", "out.onnx", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    starts.push_back(result.value()["start"]);
  }
  EXPECT_NEAR(starts[1]["objective"], starts[0]["objective"], 1e-6);
  for (const char* accuracy : {"train_accuracy", "val_accuracy", "test_accuracy"})
    EXPECT_EQ(starts[1][accuracy], starts[0][accuracy]) << accuracy;
}

TEST_F(Mpi, EachRankFindsTheFeaturesOfItsPhotosAgain) {
  for (int i = 0; i < 40; ++i) {
    const fs::path file = folder_ / fmt::format("photos/{}/{}.png", i % 2 == 0 ? "ant" : "bee", i);
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << test::png_bytes(24, 20 + i % 5, i);
  }
  const Arguments photos{"--data", "photos", "--crop", "12", "--resize", "14", "--cache", "kept"};
  ASSERT_EQ(run(folder_.path(),
                Arguments{"train", "--arch", small_net, "--epochs", "1", "-o", "photos.onnx"} + photos)
                .exit_code,
            0);
  std::vector<std::string> written;
  for (const char* word : {"computed", "found in the cache"}) {
    const Result result = mpirun(ranks(3) +
                                 Arguments{"refine", "photos.onnx", "--layers", "svm", "--moves", "layers",
                                           "--passes", "1", "--threads", "1", "-o", "out.onnx"} +
                                 photos);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, testing::ContainsRegex(fmt::format("features: .*{}", word)));
    written.push_back(read_file(folder_ / "out.onnx"));
  }
  EXPECT_EQ(written[0], written[1]);
}

TEST_F(Mpi, MoreRanksThanSamplesWork) {
  const Result result = mpirun(
      ranks(4) + Arguments{"refine", "base.onnx", "--data", "synthetic:n=4,test=2,classes=4,size=8x8",
                           "--val", "1", "--passes", "1", "--threads", "1", "-o", "few.onnx", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LE(result.value()["objective"], result.value()["start"]["objective"]);
}

// The processes that mpirun has started.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

TEST_F(Mpi, ADeadRankEndsTheJobAndAnyNumberOfRanksResumesIt) {
  const Arguments how{"--moves", "layers"};
  ASSERT_EQ(mpirun(ranks(2) + refine("whole", how)).exit_code, 0);
  Process process(folder_.path(), ranks(2) + refine("killed", how), allow_and_save_always, LWSVM_MPIRUN);
  // Until a layer is open: the second rank has then written its part of a checkpoint.
  const auto part_is_there = [&] {
    std::error_code ignored;
    for (const auto& file : fs::directory_iterator(folder_ / "killed", ignored))
      if (file.path().filename().string().find("rank-1") != std::string::npos) return true;
    return false;
  };
  while (!part_is_there()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::vector<pid_t> started = children_of(process.id());
  ASSERT_EQ(started.size(), 2u);
  ::kill(started[1], SIGKILL);
  const Result killed = process.wait();  // it does not hang
  EXPECT_NE(killed.exit_code, 0);
  EXPECT_THAT(killed.err, HasSubstr("signal 9"));

  for (const int count : {3, 1, 2}) {  // the last one goes on to the bits of the whole run
    const std::string name = "on" + std::to_string(count);
    fs::copy(folder_ / "killed", folder_ / name);
    const Result resumed = mpirun(ranks(count) + Arguments{"refine", "--resume", name, "-o", name + ".onnx",
                                                           "--threads", "1", "--json"});
    ASSERT_EQ(resumed.exit_code, 0) << count << " ranks: " << resumed.err;
    EXPECT_LT(resumed.value()["objective"], resumed.value()["start"]["objective"]);
    EXPECT_EQ(resumed.value()["rises"], 0);
  }
  EXPECT_EQ(bytes("on2"), bytes("whole"));
}

// What all come upon is said once, and what some come upon with their names.
TEST_F(Mpi, SeveralRanksInTroubleAreAllNamed) {
  const auto with = [](const std::string& network) {
    return ranks(1) + Arguments{"refine", network, "--data", kData, "--threads", "1", "-o", "out.onnx"};
  };
  const Result some = mpirun(with("base.onnx") + Arguments{":"} + with("nothing.onnx") + Arguments{":"} +
                             with("nowhere.onnx"));
  EXPECT_EQ(some.exit_code, 2);
  EXPECT_THAT(some.err, testing::ContainsRegex("rank 1: .*nothing.onnx"));
  EXPECT_THAT(some.err, testing::ContainsRegex("rank 2: .*nowhere.onnx"));
  const Result all = mpirun(ranks(3) + Arguments{"refine", "nothing.onnx", "--data", kData});
  EXPECT_EQ(all.exit_code, 2);
  const std::size_t first = all.err.find("nothing.onnx");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(all.err.find("lwsvm: ", first), std::string::npos) << all.err;
}

TEST_F(Mpi, ARankWhoseDiskIsFullIsNamedAndEndsTheJob) {
  Process process(folder_.path(),
                  ranks(2) + refine("full", {"--moves", "layers", "--patience", "1000"}, "1000"),
                  allow_and_save_always, LWSVM_MPIRUN);
  while (!fs::exists(log("full")) || records(log("full"), "update").empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::vector<pid_t> started = children_of(process.id());
  ASSERT_EQ(started.size(), 2u);
  const rlimit none{16, 16};  // bytes of a file, from now on
  ASSERT_EQ(::prlimit(started[1], RLIMIT_FSIZE, &none, nullptr), 0) << std::strerror(errno);
  const Result ended = process.wait();
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, testing::ContainsRegex("rank [01]: .*cannot write"));
}

TEST_F(Mpi, ARankWithoutMemoryIsNamedAndEndsTheJob) {
  const Arguments rest{"refine",    "base.onnx", "--data", "synthetic:n=4000000,classes=4,size=32x32",
                       "--threads", "1",         "-o",     "out.onnx"};  // 4 GB of pixels
  const Result result =
      mpirun(Arguments{"-n", "1", "/bin/sh", "-c", "ulimit -v 1000000; exec \"$0\" \"$@\"", LWSVM_BINARY} +
             rest + Arguments{":"} + ranks(1) + rest);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::ContainsRegex("rank 0: .*not enough memory"));
}

TEST_F(Mpi, ARankInTroubleIsNamedAndEndsTheJob) {
  fs::copy(folder_ / "base.onnx", folder_ / "other.onnx");
  const Arguments rest{"--data", kData, "--threads", "1", "-o", "out.onnx"};
  const Result missing = mpirun(ranks(1) + Arguments{"refine", "base.onnx"} + rest + Arguments{":"} +
                                ranks(1) + Arguments{"refine", "nothing.onnx"} + rest);
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, testing::AllOf(HasSubstr("rank 1"), HasSubstr("nothing.onnx")));
  const Result differing = mpirun(ranks(1) + Arguments{"refine", "base.onnx"} + rest + Arguments{":"} +
                                  ranks(1) + Arguments{"refine", "other.onnx"} + rest);
  EXPECT_EQ(differing.exit_code, 2);
  EXPECT_THAT(differing.err, testing::AllOf(HasSubstr("rank 1"), HasSubstr("the options are not the same")));
}

TEST_F(Mpi, AStopRequestedOfOneRankStopsAllAndSaves) {
  Process process(folder_.path(),
                  ranks(2) + refine("stopped", {"--moves", "layers", "--patience", "1000"}, "1000"),
                  allow_and_save_always, LWSVM_MPIRUN);
  while (!fs::exists(log("stopped")) || records(log("stopped"), "update").empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::vector<pid_t> started = children_of(process.id());
  ASSERT_EQ(started.size(), 2u);
  ::kill(started[1], SIGINT);
  const Result stopped = process.wait();
  EXPECT_TRUE(fs::exists(folder_ / "stopped.onnx")) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("go on with"));
}

TEST_F(Mpi, ChoosesLambdaTogether) {
  const Result result =
      mpirun(ranks(3) + refine("lambda", {"--moves", "layers", "--layers", "svm", "--lambda", "auto"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("best on the validation part"));
  EXPECT_LT(result.value()["objective"], result.value()["start"]["objective"]);
}

TEST_F(Mpi, OtherCommandsSayThatTheyAreForOneRank) {
  const Result result = mpirun(ranks(2) + Arguments{"eval", "base.onnx", "--data", kData});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("leave out mpirun"));
}

}  // namespace
}  // namespace lwsvm::cli
