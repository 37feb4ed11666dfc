// Tells a caller's functions, those of the public settings, of what a run does; most may ask it to stop.
#pragma once

#include <string>

#include "lwsvm/progress.h"
#include "lwsvm/train.h"
#include "run/recorder.h"
#include "run/refinement_run.h"

namespace lwsvm::run {

// What is measured as -1 where there is no validation part.
inline std::optional<double> if_known(double accuracy) {
  return accuracy < 0 ? std::nullopt : std::optional(accuracy);
}

class TrainCallbacks final : public RunObserver {
 public:
  explicit TrainCallbacks(const TrainSettings& settings) : settings_(settings) {}  // which must outlive this

  void on_training(const TrainOptions& options, std::int64_t samples) override {
    epochs_ = options.epochs;
    samples_ = samples;
  }
  void on_batch(int epoch, std::int64_t done, double running_loss) override {
    if (settings_.on_progress && !settings_.on_progress({epoch, done, running_loss, epochs_, samples_}))
      stop_ = true;
  }
  void on_epoch(const EpochResult& e) override {
    if (settings_.on_epoch &&
        !settings_.on_epoch({e.epoch, e.evaluated, e.taken_back, e.objective, e.train_accuracy,
                             if_known(e.val_accuracy), e.seconds, e.samples_per_second, epochs_}))
      stop_ = true;
  }
  void on_race(double radius, double objective) override {
    if (settings_.on_trial) settings_.on_trial({radius, objective});
  }
  bool stop_requested() override { return stop_; }

 private:
  const TrainSettings& settings_;
  int epochs_ = 0;
  std::int64_t samples_ = 0;
  bool stop_ = false;
};

// Of RefineSettings or AdaptSettings.
template <typename Settings>
class MoveCallbacks final : public RunObserver {
 public:
  explicit MoveCallbacks(const Settings& settings) : settings_(settings) {}  // which must outlive this

  void on_refining(const RefineOptions& options) override { max_epochs_ = options.max_epochs; }
  void on_open(int pass, const std::string& layer) override {
    now_ = {};
    now_.pass = pass;
    now_.layer = layer;
    now_.max_epochs = max_epochs_;
    now_.begins = true;
    tell();
    now_.begins = false;
  }
  void on_solve(const SolveProgress& progress, double /*seconds*/) override {
    now_.epoch = progress.epoch;
    now_.epoch_fraction = progress.epoch_fraction;
    now_.primal = progress.primal;
    now_.dual = progress.dual;
    now_.gap = progress.gap;
    now_.mean_step = progress.mean_step;
    tell();
  }
  void on_sweep(const SweepProgress& progress) override {
    now_.fraction = progress.fraction;
    now_.loss = progress.loss;
    now_.radius = progress.eta;
    now_.mean_step = progress.gamma;
    tell();
  }
  void on_update(const LayerUpdate& update, double /*seconds*/) override {
    if (settings_.on_update && !settings_.on_update(to_public(update))) stop_ = true;
  }
  void on_pass(int pass, const NetworkQuality& q, double seconds) override {
    if (settings_.on_pass &&
        !settings_.on_pass({pass, q.objective, q.train_accuracy, if_known(q.val_accuracy), seconds}))
      stop_ = true;
  }
  void on_race(double radius, double objective) override {
    if (settings_.on_trial) settings_.on_trial({radius, objective});
  }
  bool stop_requested() override { return stop_; }

 private:
  void tell() {
    if (settings_.on_progress && !settings_.on_progress(now_)) stop_ = true;
  }

  const Settings& settings_;
  int max_epochs_ = 0;
  RefineProgress now_;
  bool stop_ = false;
};

}  // namespace lwsvm::run
