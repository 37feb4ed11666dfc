// Networks of other programs through the program: refined, written back into their own file, judged by
// another runtime.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "cli/foreign_files.h"
#include "cli/program.h"
#include "data/dataset.h"
#include "judge.h"
#include "report/run_log.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> changed(const fs::path& before, const fs::path& after) {
  std::vector<std::string> names;
  const onnx::ModelProto a = load(before), b = load(after);
  EXPECT_EQ(a.graph().initializer_size(), b.graph().initializer_size());
  for (int i = 0; i < a.graph().initializer_size(); ++i)
    if (a.graph().initializer(i).SerializeAsString() != b.graph().initializer(i).SerializeAsString())
      names.push_back(a.graph().initializer(i).name());
  return names;
}

class Foreign : public testing::Test {
 protected:
  Foreign() { save(small_file().model(), folder_ / "net.onnx"); }

  Result refine(const std::string& net, const Arguments& more) {
    return run(folder_.path(), Arguments{"refine", net, "--data", small_data, "--passes", "2", "--json", "-o",
                                         "better.onnx"} +
                                   more);
  }
  json eval(const std::string& net, const Arguments& more) {
    const Result result = run(folder_.path(), Arguments{"eval", net, "--data", small_data, "--json"} + more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.value();
  }

  TemporaryFolder folder_;
};

TEST_F(Foreign, OnlyTheLayerThatWasOpenedChanges) {
  const Result result = refine("net.onnx", {"--layers", "Gemm_4", "--normalize", "0-1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(result.value()["objective"], result.value()["start"]["objective"]);
  EXPECT_THAT(changed(folder_ / "net.onnx", folder_ / "better.onnx"),
              UnorderedElementsAre("fc.weight", "fc.bias"));
}

TEST_F(Foreign, TheWrittenFileHasTheObjectiveThatWasAccepted) {
  for (int type : {onnx::TensorProto::FLOAT, onnx::TensorProto::FLOAT16, onnx::TensorProto::BFLOAT16,
                   onnx::TensorProto::DOUBLE})
    for (bool factor : {false, true}) {
      SCOPED_TRACE(fmt::format("type {} factor {}", type, factor));
      File file = small_file();
      for (auto& tensor : *file.graph().mutable_initializer()) convert(tensor, type, true);
      if (factor) File::set(*file.graph().mutable_node(3), "alpha", 0.3f);
      save(file.model(), folder_ / "typed.onnx");
      const std::string run_name = fmt::format("run{}{}", type, factor);
      const Result result = refine("typed.onnx", {"--normalize", "0-1", "--keep", "last", "--run", run_name});
      ASSERT_EQ(result.exit_code, 0) << result.err;
      double logged = 0;
      for (const auto& record : read_run_log(folder_ / run_name / "log.jsonl").records)
        if (record["type"] == "update") logged = record["objective"];
      EXPECT_LT(logged, result.value()["start"]["objective"]);
      EXPECT_EQ(eval("better.onnx", {"--split", "train"})["objective"], logged);
      EXPECT_EQ(result.value()["objective"], logged);
    }
}

TEST_F(Foreign, TrainingGoesOnInTheSameFile) {
  const Result result = run(folder_.path(), {"train", "--init", "net.onnx", "--data", small_data, "--epochs",
                                             "2", "--normalize", "0-1", "--json", "-o", "better.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(changed(folder_ / "net.onnx", folder_ / "better.onnx").size(), 4u);
  EXPECT_EQ(load(folder_ / "better.onnx").producer_name(), "pytorch");
  EXPECT_EQ(eval("better.onnx", {"--split", "train"})["objective"], result.value()["objective"]);
}

TEST_F(Foreign, NormalisationIsRememberedInTheFile) {
  const Arguments numbers{"--scale", "255", "--mean", "0.5", "--std", "0.25"};
  ASSERT_EQ(refine("net.onnx", numbers).exit_code, 0);
  EXPECT_EQ(eval("better.onnx", {}), eval("better.onnx", numbers));
  EXPECT_NE(eval("better.onnx", {})["loss"], eval("better.onnx", {"--normalize", "0-255"})["loss"]);
  EXPECT_THAT(run(folder_.path(), {"eval", "net.onnx", "--data", small_data}).err, HasSubstr("--normalize"));
}

TEST_F(Foreign, NormalisationsHaveNames) {
  const auto refused = [&](const Arguments& more, const std::string& net = "net.onnx") {
    const Result result = run(folder_.path(), Arguments{"eval", net, "--data", small_data} + more);
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_THAT(refused({"--normalize", "imagnet"}), HasSubstr("did you mean 'imagenet'"));
  EXPECT_THAT(refused({"--normalize", "0-1", "--std", "2"}), HasSubstr("not both"));
  EXPECT_THAT(refused({"--normalize", "imagenet"}), HasSubstr("3 values"));  // of a grey image
  make_network(folder_.path());
  EXPECT_THAT(refused({"--normalize", "0-1"}, "base.onnx"), HasSubstr("its own normalisation"));
  EXPECT_EQ(eval("net.onnx", {"--normalize", "0-1"})["loss"], eval("net.onnx", {"--scale", "255"})["loss"]);
}

// As somebody would have trained it who says nothing of it in the file.
class ForeignTrained : public Foreign {
 protected:
  void train(const std::string& normalization) {
    const Result result =
        run(folder_.path(), {"train", "--init", "net.onnx", "--data", more_data_, "--epochs", "20", "--lr",
                             "0.01", "--normalize", normalization, "-o", "noted.onnx"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    onnx::ModelProto proto = load(folder_ / "noted.onnx");
    proto.clear_metadata_props();
    save(proto, folder_ / "theirs.onnx");
  }
  Result judged(const std::string& net, const Arguments& more) {
    return run(folder_.path(), Arguments{"eval", net, "--data", more_data_, "--json"} + more);
  }

  const std::string more_data_ = "synthetic:n=3000,test=60,classes=3,size=8x8";
};

TEST_F(ForeignTrained, TheirNormalisationIsFoundSaidAndRemembered) {
  for (const char* normalization : {"0-1", "-1..1", "mnist"}) {
    SCOPED_TRACE(normalization);
    train(normalization);
    const Result result = judged("theirs.onnx", {});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr(std::string("taken: ") + normalization));
    EXPECT_THAT(result.err, HasSubstr("% with 0-255"));
    EXPECT_THAT(result.err, HasSubstr("another: --normalize"));
    EXPECT_EQ(result.value(), judged("theirs.onnx", {"--normalize", normalization}).value());
    const Result refined = run(folder_.path(), {"refine", "theirs.onnx", "--data", more_data_, "--passes",
                                                "1", "--layers", "Gemm_4", "-o", "better.onnx"});
    ASSERT_EQ(refined.exit_code, 0) << refined.err;
    const Result again = judged("better.onnx", {});
    EXPECT_THAT(again.err, Not(HasSubstr("taken")));
    EXPECT_EQ(again.value(), judged("better.onnx", {"--normalize", normalization}).value());
  }
}

TEST_F(ForeignTrained, WhatIsGivenIsNotQuestioned) {
  train("0-1");
  const Result result = judged("theirs.onnx", {"--normalize", "-1..1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, Not(HasSubstr("taken")));
}

TEST_F(Foreign, ANetworkThatGuessesIsRefusedUnlessAnyway) {
  for (const Arguments& command :
       {Arguments{"eval", "net.onnx"}, Arguments{"refine", "net.onnx", "--passes", "1"},
        Arguments{"train", "--init", "net.onnx", "--epochs", "1"}}) {
    SCOPED_TRACE(command[0]);
    File file = small_file();
    for (float& w : *file.graph().mutable_initializer(2)->mutable_float_data()) w = 0;  // all scores alike
    save(file.model(), folder_ / "net.onnx");
    const Result refused = run(folder_.path(), command + Arguments{"--data", small_data});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    for (const char* part : {"guessing", "--normalize NAME", "--anyway"})
      EXPECT_THAT(refused.err, HasSubstr(part));
    const Result anyway = run(folder_.path(), command + Arguments{"--data", small_data, "--anyway"});
    EXPECT_EQ(anyway.exit_code, 0) << anyway.err;
    EXPECT_THAT(anyway.err, HasSubstr("taken: 0-255, although the network seems to guess"));
  }
}

// Also of the second refine, although the file then says which samples lwsvm held back.
TEST_F(Foreign, ThatValidationSamplesMayBeKnownIsSaidEveryTime) {
  const char* warning = "may have been trained on the 30 validation samples";
  const Result first = refine("net.onnx", {"--normalize", "0-1"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr(warning));
  EXPECT_THAT(first.err, HasSubstr("x_val"));
  fs::rename(folder_ / "better.onnx", folder_ / "first.onnx");
  const Result second = refine("first.onnx", {});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr(warning));
  EXPECT_THAT(refine("net.onnx", {"--normalize", "0-1", "--val", "0"}).err, Not(HasSubstr("may have been")));
  make_network(folder_.path());
  EXPECT_THAT(refine("base.onnx", {}).err, Not(HasSubstr("may have been")));
}

TEST_F(Foreign, ValidationSamplesOfTheDataSetAreTaken) {
  if (std::system("/usr/bin/python3 -c 'import numpy' >/dev/null 2>&1") != 0)
    LWSVM_NO_JUDGE() << "/usr/bin/python3 with numpy is not here";
  const std::string make = fmt::format(
      "/usr/bin/python3 -c \"import numpy as n; r = n.random.default_rng(0); x = lambda k: r.integers(0, "
      "255, (k, 8, "
      "8)).astype('uint8'); y = lambda k: n.arange(k) % 3; n.savez('{}', x_train=x(200), y_train=y(200), "
      "x_val=x(40), y_val=y(40))\"",
      (folder_ / "set.npz").string());
  ASSERT_EQ(std::system(make.c_str()), 0);
  const Result result = run(folder_.path(), {"refine", "net.onnx", "--data", "set.npz", "--passes", "1",
                                             "--normalize", "0-1", "--json", "-o", "better.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("may have been trained")));
  const auto judged = [&](const Arguments& more) {
    return run(folder_.path(), Arguments{"eval", "better.onnx", "--data", "set.npz", "--json"} + more);
  };
  const json validation = judged({"--split", "val"}).value();
  EXPECT_EQ(validation["samples"], 40);
  EXPECT_EQ(validation["accuracy"], result.value()["val_accuracy"]);
  EXPECT_EQ(judged({"--split", "train"}).value()["samples"], 200);
  const Result refused = judged({"--val", "20"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("leave out --val"));
}

// The scores are what the head reads; the head stays in the file.
TEST_F(Foreign, ASigmoidOrTheLogarithmOfASoftmaxAtTheEndStays) {
  const json expected = eval("net.onnx", {"--normalize", "0-1"});
  for (const bool log : {false, true}) {
    File file = small_file();
    onnx::NodeProto& head = *file.graph().mutable_node(4);
    if (log) {
      head.set_output(0, "p");
      file.node("Log", {"p"});
    } else {
      head.set_op_type("Sigmoid");
    }
    save(file.model(), folder_ / "other.onnx");
    json found = eval("other.onnx", {"--normalize", "0-1"});
    found["model"] = expected["model"];
    EXPECT_EQ(found, expected);
    const Result result = refine("other.onnx", {"--normalize", "0-1", "--keep", "last"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(changed(folder_ / "other.onnx", folder_ / "better.onnx"), testing::Contains("fc.weight"));
    const onnx::ModelProto written = load(folder_ / "better.onnx");
    EXPECT_EQ(written.graph().node(written.graph().node_size() - 1).op_type(), log ? "Log" : "Sigmoid");
  }
}

TEST_F(Foreign, InputsMayHaveTheChannelsLastOrBeFlat) {
  const json expected = eval("net.onnx", {"--normalize", "0-1"});
  File last({1, 8, 8, 1}, 13, {1, 3});
  File flat({0, 64}, 13, {0, 3});
  File::set(last.node("Transpose", {"x"}, "chw"), "perm", std::vector<std::int64_t>{0, 3, 1, 2});
  flat.integers("shape", {-1, 1, 8, 8});
  flat.node("Reshape", {"x", "shape"}, "chw");
  for (File* file : {&last, &flat}) {
    const File original = small_file();
    file->graph().mutable_node()->MergeFrom(File(original).graph().node());
    file->graph().mutable_initializer()->MergeFrom(File(original).graph().initializer());
    file->graph().mutable_node(1)->set_input(0, "chw");
    save(file->model(), folder_ / "other.onnx");
    json found = eval("other.onnx", {"--normalize", "0-1"});
    found["model"] = expected["model"];
    EXPECT_EQ(found, expected);
  }
}

TEST_F(Foreign, AStoppedRunGoesOnToTheSameBytes) {
  ASSERT_EQ(refine("net.onnx", {"--normalize", "0-1", "--run", "whole"}).exit_code, 0);
  const std::string expected = read_file(folder_ / "better.onnx");
  ASSERT_EQ(refine("net.onnx", {"--normalize", "0-1", "--run", "cut", "--time-limit", "0.001s"}).exit_code,
            0);
  EXPECT_NE(read_file(folder_ / "better.onnx"), expected);
  const Result result = run(folder_.path(), {"refine", "--resume", "cut"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_file(folder_ / "better.onnx"), expected);
}

TEST_F(Foreign, SharedWeightsAreLeftAloneAndNamed) {
  File file = small_file();
  file.floats("tied", {3, 3}, small_weights({3, 3}, 5));
  file.graph().mutable_node()->RemoveLast();
  file.node("MatMul", {"s", "tied"}, "t");
  file.node("Relu", {"t"}, "u");
  file.node("MatMul", {"u", "tied"});
  save(file.model(), folder_ / "tied.onnx");
  const Result all = refine("tied.onnx", {"--normalize", "0-1"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.err, HasSubstr("layer 'MatMul_5' is left as it is: its weight 'tied' is used by 2 nodes"));
  EXPECT_THAT(changed(folder_ / "tied.onnx", folder_ / "better.onnx"), Not(testing::Contains("tied")));
  const Result named = refine("tied.onnx", {"--layers", "MatMul_7", "--normalize", "0-1"});
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_THAT(named.err, HasSubstr("layer 'MatMul_7' cannot be refined: its weight 'tied'"));
  const Result trained =
      run(folder_.path(), {"train", "--init", "tied.onnx", "--data", small_data, "--normalize", "0-1"});
  EXPECT_EQ(trained.exit_code, 2);
  EXPECT_THAT(trained.err, HasSubstr("cannot be trained"));
}

TEST_F(Foreign, WhatIsNoModelIsSaidInOneLine) {
  const std::string bytes = read_file(folder_ / "net.onnx");
  const std::vector<std::pair<std::string, std::string>> files{
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"},
      {"<!DOCTYPE html><html><body>Sign in</body></html>", "web page"},
      {bytes.substr(0, bytes.size() / 2), "damaged"},
      {"", "empty"}};
  for (const auto& [content, remedy] : files)
    for (const char* command : {"eval", "refine", "inspect"}) {
      write_file_atomically(folder_ / "bad.onnx", content);
      Arguments arguments{command, "bad.onnx"};
      const Result result = run(folder_.path(), arguments);
      EXPECT_EQ(result.exit_code, 2) << result.err;
      EXPECT_THAT(result.err, HasSubstr(remedy));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
}

// The accuracy of a file by ONNX Runtime, on small_data's test images as 0..1, one by one.
double runtime_accuracy(const fs::path& model, const fs::path& folder, const std::string& runtime) {
  const DataSet data = load_data(small_data);
  json jobs = json::array();
  for (std::size_t i = 0; i < data.test.size(); ++i) {
    std::vector<float> pixels(data.test.sample_size());
    data.test.read(i, pixels.data());
    for (float& pixel : pixels) pixel /= 255;
    const std::string stem = (folder / std::to_string(i)).string();
    write_file_atomically(stem + ".in", {reinterpret_cast<const char*>(pixels.data()), pixels.size() * 4});
    jobs.push_back(
        {{"model", model}, {"input", stem + ".in"}, {"shape", {1, 1, 8, 8}}, {"output", stem + ".out"}});
  }
  write_file_atomically(folder / "jobs.json", jobs.dump());
  const std::string script = std::string(LWSVM_SOURCE_DIR) + "/tests/model/onnx_scores.js";
  if (std::system(
          fmt::format("node '{}' '{}' '{}'", script, runtime, (folder / "jobs.json").string()).c_str()) != 0)
    return -1;
  int correct = 0;
  for (std::size_t i = 0; i < data.test.size(); ++i) {
    const std::string bytes = read_file(folder / (std::to_string(i) + ".out"));
    std::vector<float> scores(bytes.size() / 4);
    std::memcpy(scores.data(), bytes.data(), bytes.size());
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    correct += best == data.test.labels()[i];
  }
  return correct / static_cast<double>(data.test.size());
}

TEST_F(Foreign, OnnxRuntimeFindsTheSameAccuracy) {
  const std::string runtime = std::string(LWSVM_SOURCE_DIR) + "/build/oracles/node_modules/onnxruntime-node";
  const std::string start = fmt::format("node -e \"require('{}')\" >/dev/null 2>&1", runtime);
  if (!fs::exists(runtime) || std::system(start.c_str()) != 0)
    LWSVM_NO_JUDGE() << "ONNX Runtime for node is not installed (scripts/install-deps.sh test)";
  ASSERT_EQ(refine("net.onnx", {"--normalize", "0-1"}).exit_code, 0);
  TemporaryFolder scores;
  EXPECT_EQ(runtime_accuracy(folder_ / "better.onnx", scores.path(), runtime),
            eval("better.onnx", {})["accuracy"]);
}

// A real one, where it is at hand.
TEST(ForeignModels, OneLayerOfMarabousNetworkChangesByName) {
  const fs::path model = fs::path(LWSVM_SOURCE_DIR) / "../shared/models/marabou_mnist2x10.onnx";
  if (!fs::exists(model)) GTEST_SKIP() << "there is no " << model;
  TemporaryFolder folder;
  // Pictures of its size are enough: what is asked is which weights change.
  const Result result =
      run(folder.path(),
          {"refine", model.string(), "--data", "synthetic:n=500,classes=10,size=28x28", "--normalize", "0-1",
           "--layers", "Gemm_4", "--passes", "1", "--keep", "last", "-o", "better.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(changed(model, folder / "better.onnx"), UnorderedElementsAre("fc2.weight", "fc2.bias"));
}

struct WildModel {
  const char *file, *data, *normalization;
};

TEST(ForeignModels, TheirNormalisationIsFound) {
  for (const WildModel& wild : {WildModel{"marabou_cnn_max_mninst2", "mnist", "0-1"},
                                WildModel{"marabou_mnist5x20_leaky_relu", "mnist", "0-1"},
                                WildModel{"cifar10_resnet20", "cifar10", "imagenet"}}) {
    const fs::path model =
        fs::path(LWSVM_SOURCE_DIR) / "../shared/models" / (std::string(wild.file) + ".onnx");
    if (!fs::exists(model)) GTEST_SKIP() << "there is no " << model;
    TemporaryFolder folder;
    const Result result =
        run(folder.path(), {"eval", model.string(), "--data", wild.data, "--split", "val", "--val", "100"});
    if (result.err.find("is not here yet") != std::string::npos) GTEST_SKIP() << result.err;
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.err, HasSubstr(std::string("taken: ") + wild.normalization));
  }
}

// Sigmoid between the convolution and the dense layer: only what lies after it can be refined.
File frozen_file() {
  File file = small_file();
  file.graph().mutable_node(1)->set_op_type("Sigmoid");
  return file;
}

TEST(Inspect, SaysWhatAFileIsWhatCanBeRefinedAndWhyNot) {
  TemporaryFolder folder;
  save(frozen_file().model(), folder / "theirs.onnx");
  const Result text = run(folder.path(), {"inspect", "theirs.onnx"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* part :
       {"pytorch", "opset 13", "1x8x8, channels first", "Sigmoid, which is not piecewise linear",
        "1 of 2 layers with weights can be refined", "--memory 4G"})
    EXPECT_THAT(text.out, HasSubstr(part));
  const Result result = run(folder.path(), {"inspect", "theirs.onnx", "--json", "--samples", "1000"});
  const auto found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found["producer"], "pytorch");
  EXPECT_EQ(found["opset"], 13);
  EXPECT_EQ(found["layers"][1]["refinable"], false);
  EXPECT_THAT(found["layers"][1]["why_not"].get<std::string>(), HasSubstr("Sigmoid"));
  const auto& dense = found["layers"][4];
  EXPECT_EQ(dense["refinable"], true);
  EXPECT_EQ(dense["memory"]["inputs"], 1000 * 144 * 4);
  EXPECT_EQ(found["memory"], dense["memory"]["total"]);
  EXPECT_FALSE(found["layers"][3].contains("refinable"));
}

TEST(ForeignFile, WhatCannotBeUsedIsOneLineAndExitCodeTwo) {
  TemporaryFolder folder;
  const auto refused = [&](const File& file) {
    save(File(file).model(), folder / "theirs.onnx");
    const Result result = run(folder.path(), {"eval", "theirs.onnx", "--data", small_data, "-q"});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  };
  File regression = small_file();
  regression.graph().clear_node();
  regression.floats("one", {1, 64}, small_weights({1, 64}, 5));
  regression.node("Flatten", {"x"}, "f");
  File::set(regression.node("Gemm", {"f", "one"}), "transB", 1);
  EXPECT_THAT(refused(regression), HasSubstr("regression"));
  File two = small_file();
  two.graph().add_output()->set_name("s");
  EXPECT_THAT(refused(two), HasSubstr("2 outputs"));
  File unknown = small_file();
  unknown.graph().mutable_node(1)->set_op_type("Mish");
  EXPECT_THAT(refused(unknown),
              HasSubstr("node 'Relu_2': operator Mish is not supported; the nearest that is: HardSwish"));
  File cycle = small_file();
  cycle.graph().mutable_node(1)->set_input(0, "f");
  EXPECT_THAT(refused(cycle), HasSubstr("cycle"));
  File missing = small_file();
  missing.graph().mutable_node(1)->set_input(0, "nowhere");
  EXPECT_THAT(refused(missing), HasSubstr("'nowhere'"));
  File misfit = small_file();
  misfit.graph().mutable_initializer(2)->set_dims(0, 144);
  misfit.graph().mutable_initializer(2)->set_dims(1, 3);
  EXPECT_THAT(refused(misfit), HasSubstr("node 'Gemm_4'"));
}

TEST(ForeignFront, OfAnotherKindIsLeftAsItIs) {
  const TemporaryFolder folder;
  File file = small_file();
  file.graph().mutable_node(1)->set_op_type("Elu");
  write_file_atomically(folder / "theirs.onnx", file.model().SerializeAsString());
  const Result result =
      run(folder.path(), {"refine", "theirs.onnx", "--data", small_data, "--normalize", "0-1", "--anyway",
                          "--passes", "1", "--keep", "last", "-o", "better.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Model before = read_onnx(folder / "theirs.onnx"), after = read_onnx(folder / "better.onnx");
  const Node& conv = before.graph.node(1);
  const auto begin = conv.trained.begin, end = conv.trained.end();
  EXPECT_TRUE(std::equal(before.graph.parameters().begin() + begin, before.graph.parameters().begin() + end,
                         after.graph.parameters().begin() + begin));
  EXPECT_NE(before.graph.parameters(), after.graph.parameters());
  EXPECT_EQ(after.graph.node(2).layer->kind(), LayerKind::elu);
}

TEST(ForeignOutputs, OneIsChosenByName) {
  const TemporaryFolder folder;
  File file = small_file();
  onnx::ValueInfoProto& features = *file.graph().add_output();
  features.set_name(file.graph().node(1).output(0));
  features.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  write_file_atomically(folder / "theirs.onnx", file.model().SerializeAsString());
  const Arguments options{"--data", small_data, "--normalize", "0-1", "--anyway"};
  const Result open = run(folder.path(), Arguments{"eval", "theirs.onnx"} + options);
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_THAT(open.err, HasSubstr("--output-name"));
  const Arguments chosen = options + Arguments{"--output-name", "y"};
  EXPECT_EQ(run(folder.path(), Arguments{"eval", "theirs.onnx"} + chosen).exit_code, 0);
  EXPECT_EQ(run(folder.path(), {"inspect", "theirs.onnx", "--output-name", "y"}).exit_code, 0);
  const Result refined = run(folder.path(), Arguments{"refine", "theirs.onnx", "--passes", "1", "--keep",
                                                      "last", "-o", "better.onnx", "--run", "run"} +
                                                chosen);
  ASSERT_EQ(refined.exit_code, 0) << refined.err;
  const Result again = run(folder.path(), {"eval", "better.onnx", "--data", small_data, "--json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  const Result resumed = run(folder.path(), {"refine", "--resume", "run"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

// Nothing is claimed of a network that did not change: neither a lambda nor what it was trained on.
TEST(ForeignNotes, AreNotAddedWhereNothingChanged) {
  const TemporaryFolder folder;
  save(small_file().model(), folder / "theirs.onnx");
  const Arguments options{"--data", small_data, "--normalize", "0-1", "--anyway"};
  const auto keys = [&](const std::string& name) {
    std::vector<std::string> all;
    const onnx::ModelProto proto = load(folder / name);
    for (const auto& entry : proto.metadata_props()) all.push_back(entry.key());
    return all;
  };
  const auto well = [&](const Arguments& arguments) {
    const Result result = run(folder.path(), arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  };
  well(Arguments{"refine", "theirs.onnx", "--passes", "0", "-o", "same.onnx", "--run", "run"} + options);
  EXPECT_THAT(keys("same.onnx"), testing::ElementsAre("lwsvm.normalize"));
  well({"refine", "--resume", "run"});
  EXPECT_THAT(keys("same.onnx"), testing::ElementsAre("lwsvm.normalize"));
  well(Arguments{"train", "--init", "theirs.onnx", "--epochs", "0", "-o", "untrained.onnx"} + options);
  EXPECT_THAT(keys("untrained.onnx"), testing::ElementsAre("lwsvm.normalize"));
  well({"refine", "--resume", "run", "--passes", "1", "--keep", "last"});
  EXPECT_THAT(keys("same.onnx"),
              testing::IsSupersetOf({"lwsvm.lambda", "lwsvm.data", "lwsvm.split", "lwsvm.loss",
                                     "lwsvm.centre", "lwsvm.layers", "lwsvm.normalize"}));
}

}  // namespace
}  // namespace lwsvm::cli
