#include "report/run_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

void write_epoch(RunLog& log, int epoch) {
  log.write({{"type", "epoch"}, {"epoch", epoch}, {"objective", 0.1 * epoch}});
}

TEST(RunLog, EveryRecordIsALineThatIsThereAtOnce) {
  TemporaryFolder folder;
  RunLog log(folder / "new" / "run");
  EXPECT_EQ(log.offset(), 0U);
  log.write({{"type", "run"}, {"seed", 1}});
  EXPECT_EQ(read_file(log.path()), "{\"type\":\"run\",\"seed\":1}\n");
  write_epoch(log, 1);
  EXPECT_EQ(log.offset(), std::filesystem::file_size(log.path()));
  const auto content = read_run_log(log.path());
  ASSERT_EQ(content.records.size(), 2U);
  EXPECT_FALSE(content.truncated);
  EXPECT_EQ(content.records[1]["objective"], 0.1);
}

TEST(RunLog, NotFiniteBecomesNull) {
  TemporaryFolder folder;
  RunLog log(folder.path());
  log.write(
      {{"type", "epoch"}, {"gap", std::nan("")}, {"deep", {{"a", -std::numeric_limits<float>::infinity()}}}});
  EXPECT_EQ(read_file(log.path()), "{\"type\":\"epoch\",\"gap\":null,\"deep\":{\"a\":null}}\n");
}

TEST(RunLog, NamesThatAreNotUtf8DoNotStopTheRun) {
  TemporaryFolder folder;
  RunLog log(folder.path());
  log.write({{"type", "run"}, {"data", "caf\xe9\n"}});
  const auto content = read_run_log(log.path());
  ASSERT_EQ(content.records.size(), 1U);
  EXPECT_EQ(content.records[0]["data"], "caf\xef\xbf\xbd\n");
}

// Interrupted and resumed at any record: the same bytes as in one go.
TEST(RunLog, ResumedEqualsUninterrupted) {
  TemporaryFolder folder;
  RunLog whole(folder / "whole");
  for (int epoch = 0; epoch < 10; ++epoch) write_epoch(whole, epoch);
  for (int stop = 0; stop < 10; ++stop) {
    std::uint64_t offset = 0;
    {
      RunLog log(folder / "cut");
      for (int epoch = 0; epoch < stop; ++epoch) write_epoch(log, epoch);
      offset = log.sync();
      write_epoch(log, 99);  // after the checkpoint, and then killed
      std::ofstream(log.path(), std::ios::app) << "{\"type\":\"ep";
    }
    RunLog log(folder / "cut", offset);
    for (int epoch = stop; epoch < 10; ++epoch) write_epoch(log, epoch);
    EXPECT_EQ(read_file(log.path()), read_file(whole.path())) << stop;
    EXPECT_EQ(log.offset(), whole.offset());
  }
}

TEST(RunLog, OffsetThatDoesNotFitIsAnErrorAndCutsNothing) {
  TemporaryFolder folder;
  {
    RunLog log(folder.path());
    write_epoch(log, 1);
  }
  const std::string before = read_file(folder / "log.jsonl");
  EXPECT_THROW(RunLog(folder.path(), before.size() + 1), Error);
  EXPECT_THROW(RunLog(folder.path(), before.size() - 1), Error);
  EXPECT_EQ(read_file(folder / "log.jsonl"), before);
  EXPECT_THROW(RunLog(folder / "absent", 0), Error);
}

TEST(RunLog, ThatIsBeingWrittenIsLeftAlone) {
  TemporaryFolder folder;
  RunLog log(folder.path());
  write_epoch(log, 1);
  const std::string before = read_file(log.path());
  EXPECT_THROW(RunLog(folder.path()), Error);
  EXPECT_THROW(RunLog(folder.path(), log.offset()), Error);
  EXPECT_EQ(read_file(log.path()), before);
}

TEST(RunLog, FreshLogForgetsTheOld) {
  TemporaryFolder folder;
  {
    RunLog log(folder.path());
    write_epoch(log, 1);
  }
  const RunLog log(folder.path());
  EXPECT_EQ(read_file(log.path()), "");
}

TEST(RunLog, ReaderToleratesACutAtAnyByte) {
  TemporaryFolder folder;
  RunLog log(folder.path());
  for (int epoch = 0; epoch < 3; ++epoch) write_epoch(log, epoch);
  const std::string text = read_file(log.path());
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string part = text.substr(0, size);
    write_file_atomically(folder / "part", part);
    const auto content = read_run_log(folder / "part");
    const bool closed = part.empty() || part.back() == '\n' || part.back() == '}';
    const auto whole = static_cast<std::size_t>(std::count(part.begin(), part.end(), '}'));
    EXPECT_EQ(content.records.size(), whole) << size;
    EXPECT_EQ(content.truncated, !closed) << size;
  }
}

TEST(RunLog, ReaderRefusesWhatIsBrokenInTheMiddle) {
  TemporaryFolder folder;
  write_file_atomically(folder / "a", "{\"type\":\"run\"}\nnonsense\n{\"type\":\"epoch\"}\n");
  try {
    read_run_log(folder / "a");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("line 2"));
  }
}

}  // namespace
}  // namespace lwsvm
