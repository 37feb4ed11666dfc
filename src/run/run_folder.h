// A run folder: log.jsonl, and checkpoint.bin with everything that --resume needs.
#pragma once

#include <chrono>
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

namespace lwsvm::cli {

// When the next checkpoint is due: 45 seconds after the last, so that kill -9 loses less than a minute.
// LWSVM_CHECKPOINT_SECONDS changes that; 0 saves whenever the state may be saved. It is there for the tests,
// which kill runs of a second.
class CheckpointTimer {
 public:
  CheckpointTimer();  // reads the environment; throws Error if it is not a number

  bool due() const { return Clock::now() - saved_ >= interval_; }
  void restart() { saved_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::duration interval_ = std::chrono::seconds(45);
  Clock::time_point saved_ = Clock::now();
};

// Before any work is done: throws Error if `output` cannot be a new file (its folder is missing, it is a
// folder), or is the file `input` that the run starts from. The run folder need not exist yet.
void check_output(const char* command, const std::string& output, const std::string& input,
                  const std::string& run_folder);

std::filesystem::path checkpoint_path(const std::string& folder);

// Saves the network, the settings and the log's position beside what the caller has put into the checkpoint.
void save_run(Checkpoint& checkpoint, const std::string& folder, const std::string& command,
              const nlohmann::json& settings, const Model& model, std::uint32_t data_checksum,
              std::uint64_t log_offset);

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
  std::optional<std::uint32_t> data_checksum;
  std::uint64_t log_offset = 0;
};
// Throws Error: this is not how this version writes the settings of a run.
[[noreturn]] void fail_other_version(const std::string& folder, const std::string& problem);

// Also goes to the folder where the run was begun, if that is still there, so that the relative paths among
// its settings mean what they meant. Throws Error where there is no checkpoint, or one of another command.
SavedRun load_run(const std::string& folder, const std::string& command);

// The names of the options that a command line gives, "--epochs" or "network", but for those that say
// nothing about the work itself (--threads, --json, ...).
std::vector<std::string> given_options(const CLI::App& command);

// What a resumed run goes on with: its own settings, and of those given anew what may change. The others must
// be as they were; throws Error naming those that are not.
nlohmann::json resumed_settings(const SavedRun& saved, const nlohmann::json& asked,
                                const std::vector<std::string>& given,
                                const std::vector<std::string>& changeable);

// The run that `settings.resume_folder` names, if it names one; its settings replace those given, but for
// those that may change. An output is meant from the folder where the user is.
template <typename Settings>
std::optional<SavedRun> open_saved(const std::string& command, Settings& settings,
                                   const std::vector<std::string>& changeable) {
  if (settings.resume_folder.empty()) return std::nullopt;
  const std::string output =
      settings.output.empty() ? "" : std::filesystem::absolute(settings.output).string();
  SavedRun saved = load_run(settings.resume_folder, command);
  try {
    take_settings(resumed_settings(saved, settings_of(settings), settings.given, changeable), settings);
  } catch (const nlohmann::json::exception& error) {
    fail_other_version(saved.folder, error.what());
  }
  settings.run_folder = saved.folder;
  if (!output.empty()) settings.output = output;
  return saved;
}

// Throws Error where the data are not those that the run began with.
void check_same_data(const SavedRun& saved, const Task& task);

// The first record of a log: what was asked, on what, by what.
nlohmann::ordered_json run_record(const std::string& command, const nlohmann::json& settings,
                                  const Task& task);

}  // namespace lwsvm::cli
