// A run folder: log.jsonl, and checkpoint.bin with everything that --resume needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/checkpoint.h"
#include "model/model.h"
#include "run/settings.h"
#include "run/task.h"

namespace lwsvm::run {

// Before any work is done: throws Error if `output` cannot be a new file (its folder is missing, it is a
// folder), or is the file `input` that the run starts from. The run folder need not exist yet.
void check_output(const char* command, const std::string& output, const std::string& input,
                  const std::string& run_folder);

std::filesystem::path checkpoint_path(const std::string& folder);
// Of a rank's part of a checkpoint.
std::filesystem::path part_path(const std::string& folder, std::uint64_t serial, int rank);
// The serial number in the name of such a part, also of one that is still being written.
std::optional<std::uint64_t> part_serial(const std::filesystem::path& path);

// What a checkpoint remembers of a run beside its state.
struct RunRecord {
  std::string command;  // train or refine
  std::string folder;
  nlohmann::json settings;
  std::filesystem::path working_folder;  // where it was begun: relative paths in the settings begin there
  std::uint32_t data_checksum = 0;
  int ranks = 1;             // that do it together
  std::uint64_t serial = 0;  // of its last checkpoint
};

// Saves the network, the record and the log's position beside what the caller has put into the checkpoint.
void save_run(Checkpoint& checkpoint, const RunRecord& record, const Model& model, std::uint64_t log_offset);

// What a network's file says of itself, before a run notes what it did: a network that did not change is
// written with that. Kept in the checkpoint.
void put_notes(const ModelInfo& info, Checkpoint& checkpoint);
// Of `info` if the checkpoint has none.
ModelInfo notes_of(const Checkpoint& checkpoint, ModelInfo info);

struct SavedRun {
  std::string folder;  // absolute
  Checkpoint checkpoint;
  nlohmann::json settings;
  Model model;
  std::filesystem::path working_folder;  // where it was begun
  std::optional<std::uint32_t> data_checksum;
  std::uint64_t log_offset = 0;
  int ranks = 1;
  std::uint64_t serial = 0;
};
// Throws Error: this is not how this version writes the settings of a run.
[[noreturn]] void fail_other_version(const std::string& folder, const std::string& problem);

// Throws Error where there is no checkpoint, or one of another command.
SavedRun load_run(const std::string& folder, const std::string& command);

// Where the relative paths among a run's settings begin: in the folder where it was begun, whichever folder
// it is resumed from. They stay as they are where the two are the same, or the former is no more.
class RunOrigin {
 public:
  explicit RunOrigin(const std::optional<SavedRun>& saved);

  std::string path(const std::string& path) const;
  TaskOptions task(TaskOptions options) const;
  std::filesystem::path folder() const;  // absolute

 private:
  std::filesystem::path begun_in_;   // empty: here
  std::filesystem::path elsewhere_;  // the same, if it is another folder than this one; else empty
};

// What a resumed run goes on with: its own settings, and of those given anew what may change. The others must
// be as they were; throws Error naming those that are not.
nlohmann::json resumed_settings(const SavedRun& saved, const nlohmann::json& asked,
                                const std::vector<std::string>& given,
                                const std::vector<std::string>& changeable);

// The run that `job.resume_folder` names, if it names one; its settings replace those given, but for
// those that may change. An output is meant from the folder where the user is.
template <typename Job>
std::optional<SavedRun> open_saved(const std::string& command, Job& job,
                                   const std::vector<std::string>& changeable) {
  if (job.resume_folder.empty()) return std::nullopt;
  const std::string output = job.output.empty() ? "" : std::filesystem::absolute(job.output).string();
  SavedRun saved = load_run(job.resume_folder, command);
  try {
    take_settings(resumed_settings(saved, settings_of(job), job.given, changeable), job);
  } catch (const nlohmann::json::exception& error) {
    fail_other_version(saved.folder, error.what());
  }
  job.run_folder = saved.folder;
  if (!output.empty()) job.output = output;
  return saved;
}

// Throws Error where the data are not those that the run began with.
void check_same_data(const SavedRun& saved, const Task& task);

RunRecord record_of(const std::string& command, const std::string& folder, nlohmann::json settings,
                    const RunOrigin& origin, const Task& task);

// The first record of a log: what was asked, on what, by what.
nlohmann::ordered_json run_record(const RunRecord& record, const Task& task);

}  // namespace lwsvm::run
