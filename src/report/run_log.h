// The record of a run: one JSON object per line in DIR/log.jsonl.
//
// Every record has "type" (run, resume, epoch, inner, update, ..., end); the other keys, where they
// apply, are named alike in all of them: pass, layer, epoch, seconds, primal, dual, gap, mean_step, mu,
// predicted, actual, objective, train_accuracy, val_accuracy, accepted, reason, dual_bytes. NaN and infinity
// become null.
//
// Resuming: a checkpoint stores sync()'s result, and a resumed run opens the log with that number, which cuts
// off whatever the interrupted run wrote after its last checkpoint. A log that is open is locked: a second
// process that would write to it is told so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lwsvm {

class RunLog {
 public:
  explicit RunLog(const std::filesystem::path& folder);  // makes the folder; an old log is emptied
  RunLog(const std::filesystem::path& folder, std::uint64_t offset);  // goes on after byte `offset`
  ~RunLog();
  RunLog(RunLog&& other) noexcept;
  RunLog& operator=(RunLog&&) = delete;

  // log.write({{"type", "epoch"}, {"epoch", 3}, {"objective", 0.3}}): one line, in this order, handed to the
  // system before write() returns, so that kill -9 loses nothing. Needs <nlohmann/json.hpp>.
  void write(const nlohmann::ordered_json& record);

  std::uint64_t offset() const { return offset_; }  // bytes so far
  std::uint64_t sync();                             // offset(), once everything before it is on the disk

  const std::filesystem::path& path() const { return path_; }

 private:
  void open(int flags);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t offset_ = 0;
};

struct RunLogContent {
  std::vector<nlohmann::ordered_json> records;
  std::vector<int> lines;   // of each record, the first line being 1
  std::vector<int> broken;  // lines that are not JSON objects, and were left out
  bool truncated =
      false;  // the last line was cut short (a crash, or a run that is still writing) and left out
  int last_line = 0;
};

enum class BrokenLines { refuse, skip };
// Throws Error if the file cannot be read, or has a broken line and is not to skip it.
RunLogContent read_run_log(const std::filesystem::path& file, BrokenLines policy = BrokenLines::refuse);

}  // namespace lwsvm
