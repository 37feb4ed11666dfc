// The centre of the regulariser through the program: what F is, what the file remembers, who agrees with
// whom.
#include <gmock/gmock.h>

#include "cli/foreign_files.h"
#include "cli/program.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string metadata(const fs::path& path, const std::string& key) {
  const onnx::ModelProto proto = load(path);
  for (const auto& entry : proto.metadata_props())
    if (entry.key() == key) return entry.value();
  return "";
}

class CentreOfForeign : public testing::Test {
 protected:
  CentreOfForeign() { save(small_file().model(), folder_ / "net.onnx"); }

  Result refine(const std::string& net, const Arguments& more, const std::string& output = "better.onnx") {
    return run(folder_.path(), Arguments{"refine", net, "--data", small_data, "--normalize", "0-1",
                                         "--passes", "1", "--keep", "last", "--json", "-o", output} +
                                   more);
  }
  json refined(const std::string& net, const Arguments& more, const std::string& output = "better.onnx") {
    const Result result = refine(net, more, output);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.value();
  }
  Result eval(const std::string& net, const Arguments& more = {}) {
    return run(folder_.path(), Arguments{"eval", net, "--data", small_data, "--split", "train", "--normalize",
                                         "0-1", "--json"} +
                                   more);
  }
  json evaluated(const std::string& net, const Arguments& more = {}) {
    const Result result = eval(net, more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.value();
  }
  // As another program would, behind our back.
  void change_a_weight(const std::string& net) {
    onnx::ModelProto proto = load(folder_ / net);
    for (auto& tensor : *proto.mutable_graph()->mutable_initializer()) {
      if (tensor.name() != "fc.bias") continue;
      if (tensor.float_data_size() > 0)
        tensor.set_float_data(0, tensor.float_data(0) + 0.5f);
      else
        (*tensor.mutable_raw_data())[2] ^= 0x40;
    }
    save(proto, folder_ / net);
  }

  TemporaryFolder folder_;
};

TEST_F(CentreOfForeign, AtTheStartTheObjectiveIsTheLossAlone) {
  const json result = refined("net.onnx", {});
  EXPECT_EQ(result["centre"], "start");
  EXPECT_EQ(result["start"]["objective"], evaluated("net.onnx")["loss"]);
  EXPECT_LT(result["objective"], result["start"]["objective"]);
}

TEST_F(CentreOfForeign, EvalAgreesWithRefine) {
  for (const Arguments& how : {Arguments{},
                               {"--centre", "zero"},
                               {"--layers", "Gemm_4"},
                               {"--layers", "Gemm_4", "--centre", "zero"},
                               {"--lambda", "0.3"},
                               {"--mode", "paper"}}) {
    const json result = refined("net.onnx", how);
    EXPECT_EQ(evaluated("better.onnx")["objective"], result["objective"]) << json(how);
    fs::rename(folder_ / "net.onnx", folder_ / "hidden.onnx");
    EXPECT_EQ(evaluated("better.onnx")["objective"], result["objective"]) << json(how) << ", start hidden";
    fs::rename(folder_ / "hidden.onnx", folder_ / "net.onnx");
  }
}

TEST_F(CentreOfForeign, EvalKnowsOtherLambdasAndCentres) {
  refined("net.onnx", {"--lambda", "0.01"});
  const json as_written = evaluated("better.onnx"),
             around = evaluated("better.onnx", {"--centre", "net.onnx"});
  EXPECT_EQ(as_written, around);
  EXPECT_GT(as_written["regulariser"], 0);
  EXPECT_NEAR(evaluated("better.onnx", {"--lambda", "0.02"})["regulariser"],
              2 * as_written["regulariser"].get<double>(), 1e-12);
  EXPECT_GT(evaluated("better.onnx", {"--centre", "zero"})["regulariser"], as_written["regulariser"]);
  EXPECT_EQ(evaluated("better.onnx", {"--lambda", "0"})["objective"], as_written["loss"]);
}

TEST_F(CentreOfForeign, ChangedWeightsAreNoticed) {
  refined("net.onnx", {"--lambda", "0.01"});
  change_a_weight("better.onnx");
  const Result found = eval("better.onnx");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.err, HasSubstr("weights were changed"));
  fs::rename(folder_ / "net.onnx", folder_ / "hidden.onnx");
  const Result lost = eval("better.onnx");
  EXPECT_EQ(lost.exit_code, 2);
  EXPECT_THAT(lost.err, HasSubstr("weights were changed"));
  EXPECT_THAT(lost.err, HasSubstr("--centre FILE"));
  EXPECT_EQ(evaluated("better.onnx", {"--centre", "hidden.onnx"})["objective"], found.value()["objective"]);
}

TEST_F(CentreOfForeign, LayersThatAreNotOpenedHaveNoPartInF) {
  const double head = refined(
      "net.onnx", {"--layers", "Gemm_4", "--centre", "zero", "--lambda", "0.5"})["start"]["objective"];
  const double all = refined("net.onnx", {"--centre", "zero", "--lambda", "0.5"})["start"]["objective"];
  const double loss = evaluated("net.onnx")["loss"];
  double squares = 0;  // of what small_file() has in its dense layer
  for (const std::vector<float>& part : {small_weights({3, 144}, 3), small_weights({3}, 4)})
    for (float x : part) squares += static_cast<double>(x) * static_cast<double>(x);
  EXPECT_NEAR(head, loss + 0.25 * squares, 1e-9);
  EXPECT_GT(all, head);
}

TEST_F(CentreOfForeign, RefiningAgainGoesOnWithTheSameCentre) {
  const json first = refined("net.onnx", {});
  const json second = refined("better.onnx", {}, "best.onnx");
  EXPECT_EQ(second["start"]["objective"], first["objective"]);
  EXPECT_EQ(second["lambda"], first["lambda"]);
  EXPECT_EQ(evaluated("best.onnx", {"--centre", "net.onnx"})["objective"], second["objective"]);
  // In another folder, the two side by side.
  fs::create_directory(folder_ / "moved");
  for (const char* name : {"net.onnx", "better.onnx"}) fs::rename(folder_ / name, folder_ / "moved" / name);
  EXPECT_EQ(refined("moved/better.onnx", {})["start"]["objective"], first["objective"]);
}

TEST_F(CentreOfForeign, ALostStartIsSaidAndReplacedByTheNetworkAsItIs) {
  const json first = refined("net.onnx", {});
  fs::rename(folder_ / "net.onnx", folder_ / "hidden.onnx");
  const Result lost = refine("better.onnx", {}, "again.onnx");
  ASSERT_EQ(lost.exit_code, 0) << lost.err;
  EXPECT_THAT(lost.err, HasSubstr("net.onnx, from which the network was refined, is not found"));
  EXPECT_EQ(lost.value()["start"]["objective"], evaluated("better.onnx")["loss"]);
  const json given = refined("better.onnx", {"--centre", "hidden.onnx"}, "again.onnx");
  EXPECT_EQ(given["start"]["objective"], first["objective"]);
  // A file of that name with other content is not the start.
  save(small_file().model(), folder_ / "net.onnx");
  change_a_weight("net.onnx");
  EXPECT_THAT(refine("better.onnx", {}, "again.onnx").err, HasSubstr("is not found"));
}

TEST_F(CentreOfForeign, AHugeLambdaKeepsTheNetwork) {
  refined("net.onnx", {"--lambda", "1e9"});
  const json start = evaluated("net.onnx"), end = evaluated("better.onnx");
  EXPECT_NEAR(start["loss"].get<double>(), end["loss"].get<double>(), 1e-5);
  EXPECT_EQ(start["accuracy"], end["accuracy"]);
}

TEST_F(CentreOfForeign, LambdaCanBeSearchedAroundTheCentre) {
  const json result = refined("net.onnx", {"--lambda", "auto", "--layers", "Gemm_4"});
  EXPECT_EQ(result["centre"], "start");
  EXPECT_LE(result["objective"], result["start"]["objective"]);
}

TEST_F(CentreOfForeign, TrainingForgetsIt) {
  refined("net.onnx", {});
  ASSERT_EQ(metadata(folder_ / "better.onnx", "lwsvm.centre"), "start");
  const Result result = run(folder_.path(), {"train", "--init", "better.onnx", "--data", small_data,
                                             "--epochs", "1", "--json", "-o", "trained.onnx"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* key : {"lwsvm.centre", "lwsvm.layers", "lwsvm.regulariser", "lwsvm.start"})
    EXPECT_EQ(metadata(folder_ / "trained.onnx", key), "") << key;
  EXPECT_EQ(evaluated("trained.onnx")["objective"], result.value()["objective"]);
}

TEST_F(CentreOfForeign, WhatCannotBeACentreIsSaid) {
  const Result missing = refine("net.onnx", {"--centre", "nowhere.onnx"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("there is no file nowhere.onnx"));
  make_network(folder_.path());
  const Result other = refine("net.onnx", {"--centre", "base.onnx"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("has none of the layers"));
  const Result paper = refine("net.onnx", {"--centre", "start", "--mode", "paper"});
  EXPECT_EQ(paper.exit_code, 2);
  EXPECT_THAT(paper.err, HasSubstr("around zero"));
}

TEST(CentreOfOurs, IsZeroUnlessAskedFor) {
  TemporaryFolder folder;
  make_network(folder.path());
  const auto refine = [&](const Arguments& more) {
    const Result result = run(folder.path(), Arguments{"refine", "base.onnx", "--data", small_data,
                                                       "--passes", "1", "--json", "-o", "better.onnx"} +
                                                 more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.value();
  };
  const auto eval = [&](const std::string& net) {
    return run(folder.path(), {"eval", net, "--data", small_data, "--split", "train", "--json"}).value();
  };
  const json zero = refine({});
  EXPECT_EQ(zero["centre"], "zero");
  EXPECT_EQ(zero["start"]["objective"], eval("base.onnx")["objective"]);
  EXPECT_EQ(zero["objective"], eval("better.onnx")["objective"]);
  const json start = refine({"--centre", "start"});
  EXPECT_EQ(start["centre"], "start");
  EXPECT_EQ(start["start"]["objective"], eval("base.onnx")["loss"]);
  EXPECT_EQ(start["objective"], eval("better.onnx")["objective"]);
}

}  // namespace
}  // namespace lwsvm::cli
