// What is plugged into every run: the caller's observers, the stop policy and, where there is a run folder,
// its log and checkpoints.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "run/checkpoint_writer.h"
#include "run/log_writer.h"
#include "run/recorder.h"
#include "run/run_context.h"
#include "run/run_folder.h"

namespace lwsvm::run {

class Recording {
 public:
  Recording(const RunContext& context, RunObserver& stop_policy)
      : team_(*context.team), recorder_(context.observers) {
    recorder_.add(stop_policy);
  }
  Recording(const Recording&) = delete;  // its parts look at each other
  Recording& operator=(const Recording&) = delete;

  // Opens the log, if this is the first rank, which begins with `first` or goes on where the saved run was; a
  // line tells if settings have changed since. The rest is as for CheckpointWriter.
  void open(const RunRecord& record, const std::optional<SavedRun>& saved,
            const nlohmann::ordered_json& first, const Model& model, const ModelInfo& as_read,
            std::function<void(Checkpoint&)> put_state);

  // Without a run folder these do nothing.
  void save();
  void write(const nlohmann::ordered_json& record);  // to the log
  void end(const nlohmann::json& result);            // the run is over

  Recorder& recorder() { return recorder_; }

 private:
  Team& team_;
  Recorder recorder_;
  std::optional<RunLog> log_;
  std::optional<LogWriter> log_writer_;
  std::optional<CheckpointWriter> checkpoints_;
};

}  // namespace lwsvm::run
