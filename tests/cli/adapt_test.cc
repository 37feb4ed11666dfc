// lwsvm adapt, classify and what eval says of photos: a foreign network, folders of generated photos.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cstring>

#include "base/random.h"
#include "cli/foreign_files.h"
#include "cli/program.h"
#include "data/dataset.h"
#include "judge.h"
#include "model/onnx_reader.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// Stripes whose direction is the class, in colours and phases that mean nothing, with noise.
void write_stripes(const fs::path& file, int label, int width, int height, Random& random) {
  std::vector<std::uint8_t> pixels;
  const int phase = static_cast<int>(random.below(8));
  const int tint[3] = {static_cast<int>(random.below(80)), static_cast<int>(random.below(80)),
                       static_cast<int>(random.below(80))};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const int along = label == 0 ? x : label == 1 ? y : x + y;
      const int light = (along + phase) / 4 % 2 == 0 ? 40 : 140;
      for (const int colour : tint)
        pixels.push_back(static_cast<std::uint8_t>(light + colour / 2 + static_cast<int>(random.below(50))));
    }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  ASSERT_NE(png_image_write_to_file(&image, file.c_str(), 0, pixels.data(), 0, nullptr), 0);
}

constexpr const char* kNames[] = {"upright", "lying", "oblique"};

class Adapt : public testing::Test {
 protected:
  void SetUp() override {
    Random random(1);
    for (const auto& [part, count] : {std::pair("train", 24), std::pair("test", 12)})
      for (int label = 0; label < 3; ++label) {
        fs::create_directories(folder_ / "photos" / part / kNames[label]);
        for (int i = 0; i < count; ++i)
          write_stripes(folder_ / "photos" / part / kNames[label] / (std::to_string(i) + ".png"), label,
                        30 + static_cast<int>(random.below(12)), 30 + static_cast<int>(random.below(12)),
                        random);
      }
    save(network().model(), folder_ / "net.onnx");
  }

  // Of 3 x 24 x 24 pixels, for 7 classes of somebody else's.
  static File network() {
    File file({1, 3, 24, 24}, 13, {1, 7});
    file.model().set_producer_name("pytorch");
    file.floats("w1", {16, 3, 5, 5}, small_weights({16, 3, 5, 5}, 1));
    file.floats("b1", {16}, small_weights({16}, 2));
    file.floats("w2", {24, 16, 3, 3}, small_weights({24, 16, 3, 3}, 3));
    file.floats("b2", {24}, small_weights({24}, 4));
    file.floats("w3", {7, 24}, small_weights({7, 24}, 5));
    file.floats("b3", {7}, small_weights({7}, 6));
    file.node("Conv", {"x", "w1", "b1"}, "c1");
    file.node("Relu", {"c1"}, "r1");
    file.node("Conv", {"r1", "w2", "b2"}, "c2");
    file.node("Relu", {"c2"}, "r2");
    file.node("GlobalAveragePool", {"r2"}, "p");
    file.node("Flatten", {"p"}, "f");
    File::set(file.node("Gemm", {"f", "w3", "b3"}, "s"), "transB", 1);
    file.node("Softmax", {"s"});
    return file;
  }

  Result lwsvm(const Arguments& arguments) {
    return run(folder_.path(), arguments + Arguments{"--cache", (folder_ / "cache").string()});
  }
  Result adapt(const std::string& output, const Arguments& more = {}) {
    return lwsvm(Arguments{"adapt", "net.onnx", "--data", "photos", "--normalize", "0-1", "-o", output} +
                 more);
  }
  json eval(const std::string& model, const Arguments& more = {}) {
    const Result result = lwsvm(Arguments{"eval", model, "--data", "photos", "--json"} + more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.value();
  }

  TemporaryFolder folder_;
};

TEST_F(Adapt, MakesANetworkForOtherClassesThatKnowsTheirNames) {
  const Result result = adapt("mine.onnx", {"--depth", "head", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json found = result.value();
  EXPECT_GT(found["test_accuracy"].get<double>(), 0.8);
  const Model model = read_onnx(folder_ / "mine.onnx");
  EXPECT_EQ(model.info.class_names, (std::vector<std::string>{"lying", "oblique", "upright"}));
  const json judged = eval("mine.onnx");
  EXPECT_EQ(judged["accuracy"], found["test_accuracy"]);
  EXPECT_EQ(judged["classes"].size(), 3u);
  EXPECT_EQ(judged["classes"][1]["name"], "oblique");
  EXPECT_EQ(judged["classes"][1]["samples"], 12);
}

TEST_F(Adapt, WritesWhatTakesRawPixels) {
  ASSERT_EQ(adapt("mine.onnx", {"--depth", "head"}).exit_code, 0);
  ASSERT_EQ(adapt("kept.onnx", {"--depth", "head", "--keep-input"}).exit_code, 0);
  EXPECT_EQ(eval("mine.onnx")["accuracy"], eval("kept.onnx")["accuracy"]);
  const onnx::ModelProto mine = load(folder_ / "mine.onnx"), kept = load(folder_ / "kept.onnx");
  EXPECT_EQ(mine.graph().node(0).op_type(), "Div");
  EXPECT_EQ(kept.graph().node(0).op_type(), "Conv");
  EXPECT_EQ(kept.graph().node(0).SerializeAsString(), network().graph().node(0).SerializeAsString());
}

TEST_F(Adapt, LeavesLayersThatItDoesNotOpenAsTheyWere) {
  ASSERT_EQ(adapt("mine.onnx", {"--depth", "head"}).exit_code, 0);
  const onnx::ModelProto before = load(folder_ / "net.onnx"), after = load(folder_ / "mine.onnx");
  int same = 0;
  for (const auto& tensor : after.graph().initializer())
    for (const auto& old : before.graph().initializer())
      if (tensor.name() == old.name()) {
        EXPECT_EQ(tensor.SerializeAsString(), old.SerializeAsString());
        ++same;
      }
  EXPECT_EQ(same, 4);  // two convolutions, and nothing of the old last layer
}

TEST_F(Adapt, ComputesFeaturesOnce) {
  const json first = adapt("a.onnx", {"--depth", "head", "--json"}).value();
  EXPECT_EQ(first["feature_samples"], 3 * 36);
  const json second = adapt("b.onnx", {"--depth", "head", "--json"}).value();
  EXPECT_EQ(second["feature_samples"], 0);
  EXPECT_EQ(read_file(folder_ / "a.onnx"), read_file(folder_ / "b.onnx"));
  EXPECT_EQ(adapt("c.onnx", {"--depth", "head", "--json", "--val", "5"}).value()["feature_samples"], 0);
  EXPECT_NE(adapt("d.onnx", {"--depth", "head", "--json", "--augment", "flip"}).value()["feature_samples"],
            0);
}

TEST_F(Adapt, GoesDeeperWhereThatIsBetterByValidation) {
  const Result result = adapt("deep.onnx", {"--depth", "all", "--val", "45", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json found = result.value();
  EXPECT_EQ(eval("deep.onnx")["accuracy"], found["test_accuracy"]);
  EXPECT_GE(found["test_accuracy"].get<double>(), found["head"]["test_accuracy"].get<double>() - 0.06);
  if (found["layers"].size() > 1) {
    EXPECT_EQ(found["layers"].size(), 3u);
  }
}

TEST_F(Adapt, MakesCopiesOfFewPhotosForOlderLayersAlone) {
  const Arguments deeper{"--depth", "all", "--val", "45", "--json"};
  const Result copied = adapt("copied.onnx", deeper);
  const Result plain = adapt("plain.onnx", deeper + Arguments{"--augment", "none"});
  ASSERT_EQ(copied.exit_code, 0) << copied.err;
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_EQ(copied.value()["feature_samples"], 72 * 6 + 36);
  EXPECT_EQ(plain.value()["feature_samples"], 72 + 36);
  EXPECT_EQ(copied.value()["head"], plain.value()["head"]) << "the new layer is solved without them";
  EXPECT_THAT(copied.err, HasSubstr("older layers learn from copies"));
  EXPECT_EQ(eval("copied.onnx")["accuracy"], copied.value()["test_accuracy"]);
}

// Then nothing is left to validate with.
TEST_F(Adapt, LearnsFromValidationPhotosInTheEnd) {
  for (const char* depth : {"head", "all"}) {
    const Result result =
        adapt("mine.onnx", {"--depth", depth, "--val", "45", "--augment", "flip", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.value()["head"].contains("val_accuracy"));
    EXPECT_FALSE(result.value().contains("val_accuracy"));
    const bool deeper = result.value()["layers"].size() > 1;
    EXPECT_EQ(deeper, result.err.find("once more with the 45 validation samples") != std::string::npos);
  }
}

TEST_F(Adapt, LearnsFromRandomCropsOfPhotos) {
  const Result result =
      adapt("crops.onnx", {"--depth", "auto", "--val", "45", "--augment", "flip,crop2", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.value()["feature_samples"], 72 * 4 + 36);
  EXPECT_EQ(eval("crops.onnx")["accuracy"], result.value()["test_accuracy"]);
  ASSERT_EQ(lwsvm({"refine", "crops.onnx", "--data", "photos", "--augment", "flip,crop2", "--passes", "1",
                   "-o", "more.onnx"})
                .exit_code,
            0);
}

TEST_F(Adapt, IsRefinedOnFeaturesOfTheCacheToTheSameBits) {
  ASSERT_EQ(adapt("mine.onnx", {"--depth", "head"}).exit_code, 0);
  const auto refined = [&](const char* output, const Arguments& cache) {
    const Result result = run(folder_.path(), Arguments{"refine", "mine.onnx", "--data", "photos", "--layers",
                                                        "lwsvm.head", "--passes", "2", "-o", output} +
                                                  cache);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  };
  const Arguments cache{"--cache", (folder_ / "cache2").string()};
  EXPECT_THAT(refined("a.onnx", cache), HasSubstr("108 samples, computed"));
  EXPECT_THAT(refined("b.onnx", cache), HasSubstr("108 samples, found in the cache"));
  EXPECT_THAT(refined("c.onnx", {"--cache-limit", "0"}), Not(HasSubstr("found in the cache")));
  EXPECT_EQ(read_file(folder_ / "b.onnx"), read_file(folder_ / "a.onnx"));
  EXPECT_EQ(read_file(folder_ / "c.onnx"), read_file(folder_ / "a.onnx"));
}

TEST_F(Adapt, FindsTheScoresOfOnnxRuntime) {
  const std::string runtime = std::string(LWSVM_SOURCE_DIR) + "/build/oracles/node_modules/onnxruntime-node";
  if (!fs::exists(runtime) ||
      std::system(fmt::format("node -e \"require('{}')\" >/dev/null 2>&1", runtime).c_str()) != 0)
    LWSVM_NO_JUDGE() << "ONNX Runtime for node is not installed (scripts/install-deps.sh test)";
  save(network().model(), folder_ / "net.onnx");
  // Photos of the network's own size: nothing is resized, so that their bytes are known.
  Random random(9);
  std::vector<std::string> files;
  for (int i = 0; i < 6; ++i) {
    files.push_back(fmt::format("p{}.png", i));
    write_stripes(folder_ / files.back(), i % 3, 24, 24, random);
  }
  const Result made = lwsvm({"adapt", "net.onnx", "--data", "photos", "--normalize", "caffe", "-o",
                             "mine.onnx", "--depth", "head"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Result said =
      lwsvm(Arguments{"classify", "mine.onnx", "--json", "--resize", "24", "--top", "3"} + files);
  ASSERT_EQ(said.exit_code, 0) << said.err;
  json jobs = json::array();
  for (const std::string& file : files) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    ASSERT_NE(png_image_begin_read_from_file(&image, (folder_ / file).c_str()), 0);
    image.format = PNG_FORMAT_RGB;
    std::vector<std::uint8_t> bytes(24 * 24 * 3);
    ASSERT_NE(png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr), 0);
    std::vector<float> planes(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) planes[i % 3 * 576 + i / 3] = bytes[i];
    write_file_atomically(folder_ / (file + ".in"),
                          {reinterpret_cast<const char*>(planes.data()), planes.size() * sizeof(float)});
    jobs.push_back({{"model", (folder_ / "mine.onnx").string()},
                    {"input", (folder_ / (file + ".in")).string()},
                    {"shape", {1, 3, 24, 24}},
                    {"output", (folder_ / (file + ".out")).string()}});
  }
  write_file_atomically(folder_ / "jobs.json", jobs.dump());
  const std::string script = std::string(LWSVM_SOURCE_DIR) + "/tests/model/onnx_scores.js";
  ASSERT_EQ(
      std::system(
          fmt::format("node '{}' '{}' '{}'", script, runtime, (folder_ / "jobs.json").string()).c_str()),
      0);
  const json photos = said.value()["photos"];
  for (std::size_t k = 0; k < files.size(); ++k) {
    const std::string bytes = read_file(folder_ / (files[k] + ".out"));
    std::vector<float> scores(3);
    ASSERT_EQ(bytes.size(), 12u);
    std::memcpy(scores.data(), bytes.data(), bytes.size());
    for (const json& entry : photos[k]["classes"])
      EXPECT_NEAR(entry["score"].get<double>(), scores[entry["label"].get<std::size_t>()], 1e-3);
  }
}

TEST_F(Adapt, ClassifiesByName) {
  ASSERT_EQ(adapt("mine.onnx", {"--depth", "head"}).exit_code, 0);
  const Result result =
      lwsvm({"classify", "mine.onnx", "photos/test/lying/0.png", "photos/test/upright/1.png"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("photos/test/lying/0.png:  lying"));
  EXPECT_THAT(result.out, HasSubstr("photos/test/upright/1.png:  upright"));
  const json found =
      lwsvm({"classify", "mine.onnx", "photos/test/lying/0.png", "--json", "--top", "2"}).value();
  EXPECT_EQ(found["photos"][0]["classes"].size(), 2u);
}

TEST_F(Adapt, ClassifyNamesTheFileThatIsNoPhoto) {
  ASSERT_EQ(adapt("mine.onnx", {"--depth", "head"}).exit_code, 0);
  write_file_atomically(folder_ / "notes.txt", "no photo");
  const Result result = lwsvm({"classify", "mine.onnx", "photos/test/lying/0.png", "notes.txt"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("notes.txt"));
  const Result skipped =
      lwsvm({"classify", "mine.onnx", "photos/test/lying/0.png", "notes.txt", "--skip-bad"});
  EXPECT_EQ(skipped.exit_code, 0);
  EXPECT_THAT(skipped.out, Not(HasSubstr("notes.txt")));
  const Result foreign = lwsvm({"classify", "net.onnx", "photos/test/lying/0.png"});
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_THAT(foreign.err, HasSubstr("--normalize"));
}

TEST_F(Adapt, DenseEvaluationOfImagesOfTheNetworksSizeIsThatOfTheMirroredPair) {
  ASSERT_EQ(adapt("mine.onnx", {"--depth", "head"}).exit_code, 0);
  const json plain = eval("mine.onnx"), dense = eval("mine.onnx", {"--dense"});
  EXPECT_EQ(dense["samples"], plain["samples"]);
  EXPECT_GT(dense["accuracy"].get<double>(), plain["accuracy"].get<double>() - 0.2);
}

TEST_F(Adapt, SaysWhatIsWrong) {
  const auto message = [&](const Arguments& arguments) {
    const Result result = lwsvm(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    return result.err;
  };
  EXPECT_THAT(message({"adapt", "net.onnx", "--data", "photos", "--depth", "deep"}), HasSubstr("head, auto"));
  EXPECT_THAT(message({"adapt", "--data", "photos"}), HasSubstr("which network?"));
  EXPECT_THAT(message({"adapt", "net.onnx", "--data", "photos", "--lambda", "-1"}), HasSubstr("positive"));
  EXPECT_THAT(message({"adapt", "net.onnx", "--data", "photos", "-o", "net.onnx"}), HasSubstr("overwrite"));
}

}  // namespace
}  // namespace lwsvm::cli
