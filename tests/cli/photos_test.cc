// Folders of photos as the data of every command.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/program.h"
#include "data/made_photos.h"

namespace lwsvm::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace lwsvm::test;
namespace fs = std::filesystem;

class Photos : public ::testing::Test {
 protected:
  Photos() {
    for (const char* part : {"train", "val"})
      for (int i = 0; i < (part[0] == 't' ? 12 : 5); ++i) {
        put(fmt::format("photos/{}/ant/{}.png", part, i), png_bytes(24, 20 + i, i));
        put(fmt::format("photos/{}/bee/{}.jpg", part, i), jpeg_bytes(30 + i, 20, 40 + i));
      }
  }
  void put(const std::string& name, const std::string& bytes) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  Result lwsvm(const Arguments& arguments) {
    return run(folder_.path(), arguments + Arguments{"--cache", "kept"});
  }
  Result train(const Arguments& more = {}) {
    return lwsvm(Arguments{"train", "--data", "photos", "--arch", "conv4x3-relu-pool2", "--epochs", "2",
                           "--batch", "8", "-o", "net.onnx"} +
                 more);
  }

  TemporaryFolder folder_;
};

TEST_F(Photos, AreCutAsTheNetworkWasTrained) {
  const Result trained = train({"--crop", "12x16", "--resize", "19"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, AllOf(HasSubstr("decoded 34 photos to 3x12x16"), HasSubstr("val is the test part"),
                                 HasSubstr("22 training, 2 validation, 10 test")));
  const Result judged = lwsvm({"eval", "net.onnx", "--data", "photos", "--json"});
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_EQ(judged.value()["samples"], 10);
  EXPECT_THAT(judged.err, Not(HasSubstr("decoded")));  // with the same --resize, found in the cache
  EXPECT_THAT(read_file(folder_ / "net.onnx"),
              AllOf(HasSubstr("resize=19 crop=12x16"), HasSubstr("[\"ant\",\"bee\"]")));
  const Result refined = lwsvm(
      {"refine", "net.onnx", "--data", "photos", "--passes", "1", "--moves", "layers", "-o", "better.onnx"});
  EXPECT_EQ(refined.exit_code, 0) << refined.err;
  const Result other = lwsvm({"eval", "net.onnx", "--data", "photos", "--stretch"});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_THAT(other.err, HasSubstr("decoded"));
}

TEST_F(Photos, ArePartOfWhatARunRemembers) {
  ASSERT_EQ(train({"--crop", "12", "--run", "run"}).exit_code, 0);
  const Result more = lwsvm({"train", "--resume", "run", "--epochs", "3"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  const Result contradiction = lwsvm({"train", "--resume", "run", "--epochs", "4", "--crop", "14"});
  EXPECT_EQ(contradiction.exit_code, 2);
  EXPECT_THAT(contradiction.err, HasSubstr("--crop"));
  put("photos/train/ant/99.png", png_bytes(30, 30, 7));
  EXPECT_THAT(lwsvm({"train", "--resume", "run", "--epochs", "4"}).err, HasSubstr("not the one"));
}

TEST_F(Photos, ThatAreDamagedAreAnErrorOrLeftOut) {
  put("photos/train/bee/cut.jpg", jpeg_bytes(64, 64).substr(0, 700));
  const Result stopped = train({"--crop", "12"});
  EXPECT_EQ(stopped.exit_code, 2);
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("train/bee/cut.jpg"), HasSubstr("--skip-bad")));
  const Result without = train({"--crop", "12", "--skip-bad"});
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_THAT(without.err, AllOf(HasSubstr("left out"), HasSubstr("cut.jpg"), Not(HasSubstr("decoded"))));
}

TEST_F(Photos, AreListedInTheCacheUntilItIsCleared) {
  ASSERT_EQ(train({"--crop", "12"}).exit_code, 0);
  const json listed = lwsvm({"cache", "list", "--json"}).value();
  ASSERT_EQ(listed["files"].size(), 1u);
  EXPECT_EQ(listed["files"][0]["kind"], "photos");
  EXPECT_THAT(listed["files"][0]["description"].get<std::string>(), HasSubstr("34 photos, 3x12x12"));
  EXPECT_EQ(lwsvm({"cache", "clear", "features", "--json"}).value()["files"].size(), 0u);
  EXPECT_EQ(lwsvm({"cache", "clear", "--json"}).value()["bytes"], listed["bytes"]);
  EXPECT_TRUE(lwsvm({"cache", "list", "--json"}).value()["files"].empty());
}

TEST_F(Photos, GiveOneLineWhereTheOptionsMakeNoSense) {
  for (const auto& [arguments, what] : {std::pair{Arguments{"--crop", "12", "--resize", "10"}, "--resize 10"},
                                        {Arguments{"--crop", "12x"}, "'12x' is no size"},
                                        {Arguments{"--crop", "0"}, "'0' is no size"},
                                        {Arguments{"--crop", "99999"}, "99999 pixels"},
                                        {Arguments{"--resize", "0"}, "--resize"},
                                        {Arguments{"--cache-limit", "much"}, "cache-limit"}}) {
    const Result result = train(arguments);
    EXPECT_EQ(result.exit_code, 2) << what;
    EXPECT_THAT(result.err, HasSubstr(what));
  }
}

}  // namespace
}  // namespace lwsvm::cli
