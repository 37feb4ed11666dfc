// Others judge our files: the ONNX project's checker, and ONNX Runtime's scores against ours.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "data/photo.h"
#include "data/photo_list.h"
#include "judge.h"
#include "model/arch.h"
#include "model/foreign_cases.h"
#include "model/graphs.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/storage.h"
#include "net/program.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

const std::filesystem::path source_dir = LWSVM_SOURCE_DIR;

// The exit code and all that was printed.
std::pair<int, std::string> run(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "cannot run it"};
  std::string printed;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) printed.append(buffer, n);
  return {::pclose(pipe), printed};
}

std::vector<float> scores_at_once(const Graph& graph, std::span<const float> inputs) {
  const std::int64_t size = element_count(graph.node(graph.inputs()[0]).shape);
  ProgramOptions options;
  options.samples = static_cast<int>(std::ssize(inputs) / size);
  options.target = graph.output();
  Program program(graph, options);
  program.load(graph);
  Workspace workspace = program.make_workspace();
  std::copy(inputs.begin(), inputs.end(), program.input(workspace));
  program.forward(workspace, PatternUse::ignore);
  const float* scores = program.output(workspace);
  return {scores, scores + options.samples * element_count(graph.node(graph.output()).shape)};
}

// A few samples at a time, which large images have to be.
std::vector<float> our_scores(const Graph& graph, std::span<const float> inputs) {
  const auto size = static_cast<std::size_t>(element_count(graph.node(graph.inputs()[0]).shape));
  const std::size_t samples = size > 10'000 ? 10 : inputs.size() / size;
  std::vector<float> scores;
  for (; !inputs.empty(); inputs = inputs.subspan(std::min(samples * size, inputs.size()))) {
    const std::vector<float> part =
        scores_at_once(graph, inputs.first(std::min(samples * size, inputs.size())));
    scores.insert(scores.end(), part.begin(), part.end());
  }
  return scores;
}

struct Subject {
  std::string name;
  Graph graph;
  std::vector<float> inputs;                           // some samples
  std::shared_ptr<const OnnxSource> source = nullptr;  // of the graph
  bool same_answers = false;                           // also the largest score is asked for
};

std::vector<Subject> every_subject() {
  std::vector<Subject> subjects;
  const auto add = [&](const std::string& name, Graph graph, double low, double high, std::size_t samples) {
    const auto size = static_cast<std::size_t>(element_count(graph.node(graph.inputs()[0]).shape));
    subjects.push_back(
        {name, std::move(graph), random_floats(samples * size, low, high, subjects.size() + 1)});
  };
  for (const KindCase& test : every_kind()) add(test.name, graph_of(test), -1, 1, 3);
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    add(fmt::format("random{}", seed), random_graph(seed), -1, 1, 3);
  const auto arch = [&](const std::string& name, const std::string& text, const Shape& input,
                        bool per_pixel) {
    const auto constants = static_cast<std::size_t>(per_pixel ? element_count(input) : 1);
    Graph graph = build_network(text, input, 10, random_floats(constants, 100, 130, 1),
                                random_floats(constants, 50, 70, 2), 5);
    for (float& value : graph.statistics()) value = value * 0.9f + 0.05f;  // as if trained a little
    add(name, std::move(graph), 0, 255, 2);
  };
  arch("mnist", "mnist", {1, 28, 28}, false);
  arch("cifar", "cifar", {3, 32, 32}, true);
  arch("cifar4", "cifar/4", {3, 32, 32}, true);
  arch("resnet20", "resnet20", {3, 32, 32}, true);
  arch("everything",
       "conv6x3-bn-prelu-conv6x3-maxout3-leaky0.1-abs-relu6-avgpool3s1p1-pool2-dropout0.25-"
       "res(conv8x3s2-relu-conv8x3)-respad(conv12x3s2-bn)-inception(conv2x1|conv3x3-relu|pool3s1p1|id)-gmp-"
       "dense9-maxout2-bn-relu",
       {2, 16, 16}, true);
  return subjects;
}

// Files of others with other weights in one of their layers. ONNX Runtime has no bfloat16.
std::vector<Subject> changed_foreign_subjects() {
  std::vector<Subject> subjects;
  for (const ForeignCase& test : foreign_cases()) {
    if (test.name.starts_with("bfloat16")) continue;
    Model model = from_onnx_bytes(test.proto.SerializeAsString(), test.name);
    scramble(model.graph, 3);
    round_to_storage(model);
    const auto size =
        static_cast<std::size_t>(element_count(model.graph.node(model.graph.inputs()[0]).shape));
    subjects.push_back(
        {"foreign_" + test.name, model.graph, random_floats(3 * size, -1, 1, 4), model.source});
  }
  return subjects;
}

TEST(OnnxChecker, AcceptsEveryFile) {
  if (run("/usr/bin/python3 -c 'import onnx'").first != 0)
    LWSVM_NO_JUDGE() << "Python's onnx is not installed (scripts/install-deps.sh test)";
  TemporaryFolder folder;
  std::string files;
  std::vector<Subject> subjects = every_subject();
  for (Subject& subject : changed_foreign_subjects()) subjects.push_back(std::move(subject));
  for (const Subject& subject : subjects) {
    Model model;
    model.graph = subject.graph;
    model.source = subject.source;
    model.info.lambda = 0.001;
    write_onnx(model, folder / (subject.name + ".onnx"));
    files += fmt::format(" '{}'", (folder / (subject.name + ".onnx")).string());
  }
  const auto [code, printed] =
      run(fmt::format("/usr/bin/python3 '{}'{}", (source_dir / "tests/model/check_onnx.py").string(), files));
  EXPECT_EQ(code, 0) << printed;
}

class OnnxRuntime : public testing::Test {
 protected:
  void SetUp() override {
    runtime_ = (source_dir / "build/oracles/node_modules/onnxruntime-node").string();
    if (!std::filesystem::exists(runtime_) || run("node --version").first != 0)
      LWSVM_NO_JUDGE() << "ONNX Runtime for node is not installed (scripts/install-deps.sh test)";
    // There, but not for this processor or C library?
    const auto [code, printed] = run(fmt::format("node -e \"require('{}')\"", runtime_));
    if (code != 0) LWSVM_NO_JUDGE() << "ONNX Runtime for node does not start: " << printed;
  }

  void judge(const std::vector<Subject>& subjects) {
    nlohmann::json jobs = nlohmann::json::array();
    for (const Subject& subject : subjects) {
      const std::string stem = (folder_ / subject.name).string();
      Model model;
      model.graph = subject.graph;
      model.source = subject.source;
      write_onnx(model, stem + ".onnx");
      write_file_atomically(
          stem + ".in", {reinterpret_cast<const char*>(subject.inputs.data()), subject.inputs.size() * 4});
      Shape shape = subject.graph.node(subject.graph.inputs()[0]).shape;
      shape.insert(shape.begin(), static_cast<std::int64_t>(subject.inputs.size()) / element_count(shape));
      jobs.push_back(
          {{"model", stem + ".onnx"}, {"input", stem + ".in"}, {"shape", shape}, {"output", stem + ".out"}});
    }
    write_file_atomically(folder_ / "jobs.json", jobs.dump());
    const auto [code, printed] =
        run(fmt::format("node '{}' '{}' '{}'", (source_dir / "tests/model/onnx_scores.js").string(), runtime_,
                        (folder_ / "jobs.json").string()));
    ASSERT_EQ(code, 0) << printed;
    for (const Subject& subject : subjects) {
      const std::string bytes = read_file(folder_ / (subject.name + ".out"));
      const std::vector<float> ours = our_scores(subject.graph, subject.inputs);
      ASSERT_EQ(bytes.size(), ours.size() * 4) << subject.name;
      const auto row =
          static_cast<std::size_t>(element_count(subject.graph.node(subject.graph.output()).shape));
      std::vector<float> scores(ours.size());
      std::memcpy(scores.data(), bytes.data(), bytes.size());
      double worst = 0;
      for (std::size_t begin = 0; begin < ours.size(); begin += row) {
        double scale = 1e-6, error = 0;  // relative to the largest score of the sample
        for (std::size_t i = begin; i < begin + row; ++i) {
          scale = std::max(scale, std::abs(static_cast<double>(scores[i])));
          const double difference = std::abs(static_cast<double>(scores[i]) - static_cast<double>(ours[i]));
          error = std::isfinite(difference) ? std::max(error, difference) : INFINITY;
        }
        worst = std::max(worst, error / scale);
        const auto best = [&](const std::vector<float>& of) {
          const auto first = of.begin() + static_cast<std::ptrdiff_t>(begin);
          return std::max_element(first, first + static_cast<std::ptrdiff_t>(row)) - first;
        };
        if (subject.same_answers) {
          EXPECT_EQ(best(ours), best(scores)) << subject.name << ", sample " << begin / row;
        }
      }
      EXPECT_LE(worst, 1e-4) << subject.name;
      RecordProperty(subject.name, fmt::format("{:.1e}", worst));
    }
  }

  std::string runtime_;
  TemporaryFolder folder_;
};

TEST_F(OnnxRuntime, GivesTheSameScores) {
  judge(every_subject());
}

TEST_F(OnnxRuntime, GivesTheSameScoresForChangedFilesOfOthers) {
  judge(changed_foreign_subjects());
}

TEST_F(OnnxRuntime, GivesTheSameScoresOnRealImages) {
  const char* path = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";
  gzFile file = ::gzopen(path, "rb");
  if (file == nullptr) LWSVM_NO_JUDGE() << "Fashion-MNIST is not installed (scripts/install-deps.sh test)";
  std::vector<unsigned char> bytes(16 + 1000 * 784);
  const int got = ::gzread(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  ::gzclose(file);
  ASSERT_EQ(got, static_cast<int>(bytes.size()));
  Subject subject{
      "fashion", build_network("mnist", {1, 28, 28}, 10, {0}, {256}, 3), {bytes.begin() + 16, bytes.end()}};
  judge({subject});
}

struct ImageNetModel {
  const char* file;
  std::vector<double> mean, deviation;  // of pixels 0..1, as in its README
};

TEST_F(OnnxRuntime, GivesTheSameScoresOfImageNetsNetworksOnPhotos) {
  const std::filesystem::path shared = source_dir / ".." / "shared";
  if (!std::filesystem::exists(shared / "models" / "imagenet") || !std::filesystem::exists(shared / "photos"))
    GTEST_SKIP() << shared << " has no models/imagenet or no photos";
  std::vector<std::vector<std::uint8_t>> photos;
  for (const char* folder : {"hymenoptera", "flowers"}) {
    const PhotoList list = list_photo_folder(shared / "photos" / folder);
    for (std::size_t i = 0; i < list.files.size(); i += list.files.size() / 40)
      if (photo_format(read_photo_file(list.files[i].path)) != PhotoFormat::other)
        photos.push_back(photo_sample(list.files[i].path, PhotoGeometry()));
  }
  ASSERT_GT(photos.size(), 80u);
  const std::vector<ImageNetModel> models{{"squeezenet1.1_224", {0.482353, 0.458824, 0.407843}, {1.0 / 255}},
                                          {"mobilenet_v1_1.0_224", {0.5}, {0.5}},
                                          {"mobilenet_v2_1.0_224", {0.5}, {0.5}}};
  for (const ImageNetModel& wanted : models) {
    const Model model = read_onnx(shared / "models" / "imagenet" / (std::string(wanted.file) + ".onnx"));
    Subject subject{wanted.file, model.graph, {}, model.source, true};
    for (const std::vector<std::uint8_t>& photo : photos)
      for (std::size_t i = 0; i < photo.size(); ++i) {
        const std::size_t channel = i / (photo.size() / 3);
        const double mean = wanted.mean[channel % wanted.mean.size()];
        subject.inputs.push_back(static_cast<float>((photo[i] / 255.0 - mean) / wanted.deviation[0]));
      }
    judge({subject});
  }
}

}  // namespace
}  // namespace lwsvm
