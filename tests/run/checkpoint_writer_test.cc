#include "run/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/thread_team.h"
#include "model/arch.h"
#include "temporary_folder.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;

// A rank that is ahead of the first one writes its next part while the first removes the older ones.
TEST(CheckpointWriter, LeavesTheNewestPartOfEveryRankThroughSavesInQuickSuccessionByThreads) {
  constexpr int ranks = 3, saves = 60;
  const TemporaryFolder folder;
  Model model;
  model.graph = build_network("dense3-relu", {3, 1, 1}, 2, {}, {}, 0);
  RunLog log(folder.path());
  with_ranks(ranks, [&](Team& team) {
    RunRecord record;
    record.command = "refine";
    record.folder = folder.path().string();
    record.ranks = ranks;
    CheckpointWriter writer(
        record, model, model.info, team.is_first() ? &log : nullptr,
        [](Checkpoint& checkpoint) { checkpoint.put("state", std::vector<double>{1}); }, team);
    for (int k = 0; k < saves; ++k) writer.save();
  });
  EXPECT_EQ(load_run(folder.path().string(), "refine").serial, saves);
  for (int rank = 1; rank < ranks; ++rank)
    EXPECT_TRUE(fs::exists(part_path(folder.path().string(), saves, rank))) << rank;
  for (const auto& file : fs::directory_iterator(folder.path())) {
    const auto serial = part_serial(file.path());
    EXPECT_TRUE(!serial || *serial == saves) << file.path();
  }
}

TEST(CheckpointWriter, KnowsThePartsOfRanksByTheirNames) {
  EXPECT_EQ(part_serial(part_path("run", 14, 3)), 14u);
  EXPECT_EQ(part_serial("run/checkpoint-14.rank-1.bin.tmp77"), 14u);
  for (const char* other :
       {"run/checkpoint.bin", "run/checkpoint-x.rank-1.bin", "run/log.jsonl", "run/checkpoint-14.bin"})
    EXPECT_EQ(part_serial(other), std::nullopt) << other;
}

}  // namespace
}  // namespace lwsvm::run
