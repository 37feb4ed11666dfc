// Saves a run at its safe points, so that kill -9 loses less than a minute.
//
// Of several ranks each writes a part of its own beside the checkpoint, if it has something to add to it: the
// blocks of an open layer. The first one's checkpoint names the parts that belong to it, and is written when
// all of them are whole; the parts of the one before go when it is in its place. So there is always one
// checkpoint that is whole with all its parts, and the one that is believed is such a one.
#pragma once

#include <chrono>
#include <functional>

#include "base/team.h"
#include "report/run_log.h"
#include "run/recorder.h"
#include "run/run_folder.h"

namespace lwsvm::run {

// When the next checkpoint is due: 45 seconds after the last. LWSVM_CHECKPOINT_SECONDS changes that; 0 saves
// whenever the state may be saved. It is there for the tests, which kill runs of a second.
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

class CheckpointWriter final : public RunObserver {
 public:
  // `put_state` adds what the solver needs to go on; on other ranks than the first, what only they know.
  // Model, notes (of the network as read) and log must outlive this; only the first rank has a log.
  CheckpointWriter(RunRecord record, const Model& model, const ModelInfo& as_read, RunLog* log,
                   std::function<void(Checkpoint&)> put_state, Team& team)
      : record_(std::move(record)),
        model_(model),
        as_read_(as_read),
        log_(log),
        put_state_(std::move(put_state)),
        team_(team) {}

  // Ranks come here together, when the first one wants to save.
  void on_safe_point(bool epoch_ended) override {
    if (epoch_ended || timer_.due() || !team_.is_alone()) save();
  }
  bool wants_to_save() override { return timer_.due(); }
  void save();

 private:
  RunRecord record_;
  const Model& model_;
  const ModelInfo& as_read_;
  RunLog* log_;
  std::function<void(Checkpoint&)> put_state_;
  Team& team_;
  CheckpointTimer timer_;
};

}  // namespace lwsvm::run
