// A run folder: log.jsonl, and checkpoint.bin with everything that --resume needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/checkpoint.h"
#include "cli/task.h"
#include "model/model.h"

namespace lwsvm::cli {

std::filesystem::path checkpoint_path(const std::string& folder);

// Saves the network, the settings and the log's position beside what the caller has put into the checkpoint.
void save_run(Checkpoint& checkpoint, const std::string& folder, const std::string& command,
              const nlohmann::json& settings, const Model& model, std::uint64_t log_offset);

struct SavedRun {
  Checkpoint checkpoint;
  nlohmann::json settings;
  Model model;
  std::uint64_t log_offset = 0;
};
// Throws Error where there is no checkpoint, or one of another command.
SavedRun load_run(const std::string& folder, const std::string& command);

// The first record of a log: what was asked, on what, by what.
nlohmann::ordered_json run_record(const std::string& command, const nlohmann::json& settings, const Task& task);

}  // namespace lwsvm::cli
