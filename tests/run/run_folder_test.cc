#include "run/run_folder.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;

std::optional<SavedRun> begun_in(const fs::path& folder) {
  std::optional<SavedRun> saved(std::in_place);
  saved->working_folder = folder;
  return saved;
}

TEST(RunOrigin, IsHereForANewRun) {
  const RunOrigin origin(std::nullopt);
  EXPECT_EQ(origin.path("net.onnx"), "net.onnx");
  EXPECT_EQ(origin.folder(), fs::current_path());
}

TEST(RunOrigin, MakesRelativePathsBeginWhereTheRunBegan) {
  const TemporaryFolder elsewhere;
  const RunOrigin origin(begun_in(elsewhere.path()));
  EXPECT_EQ(origin.path("sub/net.onnx"), (elsewhere / "sub/net.onnx").string());
  EXPECT_EQ(origin.path("/absolute.onnx"), "/absolute.onnx");
  EXPECT_EQ(origin.path(""), "");
  EXPECT_EQ(origin.folder(), elsewhere.path());
}

TEST(RunOrigin, LeavesNamesOfDataSetsAsTheyAre) {
  const TemporaryFolder elsewhere;
  const RunOrigin origin(begun_in(elsewhere.path()));
  const auto data = [&](const char* name) {
    TaskOptions options;
    options.data = name;
    return origin.task(options).data;
  };
  EXPECT_EQ(data("mnist"), "mnist");
  EXPECT_EQ(data("synthetic:n=30"), "synthetic:n=30");
  EXPECT_EQ(data("mine.npz"), (elsewhere / "mine.npz").string());
}

TEST(RunOrigin, LeavesPathsAsTheyAreWhereTheOldFolderIsNoMore) {
  const RunOrigin origin(begun_in("/no/such/folder"));
  EXPECT_EQ(origin.path("net.onnx"), "net.onnx");
  EXPECT_EQ(origin.folder(), fs::current_path());
}

}  // namespace
}  // namespace lwsvm::run
