// Saves a run at its safe points, so that kill -9 loses less than a minute.
#pragma once

#include <chrono>
#include <functional>

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
  // `put_state` adds what the solver needs to go on. Model, notes (of the network as read) and log must
  // outlive this.
  CheckpointWriter(RunRecord record, const Model& model, const ModelInfo& as_read, RunLog& log,
                   std::function<void(Checkpoint&)> put_state)
      : record_(std::move(record)),
        model_(model),
        as_read_(as_read),
        log_(log),
        put_state_(std::move(put_state)) {}

  void on_safe_point(bool epoch_ended) override {
    if (epoch_ended || timer_.due()) save();
  }
  void save();

 private:
  RunRecord record_;
  const Model& model_;
  const ModelInfo& as_read_;
  RunLog& log_;
  std::function<void(Checkpoint&)> put_state_;
  CheckpointTimer timer_;
};

}  // namespace lwsvm::run
