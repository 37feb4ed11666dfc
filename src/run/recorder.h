// One recorder for training and for refining: what the trainer and the refiner tell goes to whoever is
// plugged in. What shows a run, logs it, saves it and ends it are separate observers that do not know of each
// other.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "lwsvm/refine_observer.h"
#include "lwsvm/refine_options.h"
#include "sgd/trainer.h"

namespace lwsvm::run {

// `seconds` are those of the run's own work so far, of earlier starts too.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  // A training run.
  virtual void on_training(const TrainOptions& /*options*/, std::int64_t /*samples*/) {}
  virtual void on_batch(int /*epoch*/, std::int64_t /*samples_done*/, double /*running_loss*/) {}
  virtual void on_epoch(const EpochResult& /*result*/) {}

  // A refinement.
  virtual void on_refining(const RefineOptions& /*options*/) {}
  virtual void on_open(int /*pass*/, const std::string& /*layer*/) {}
  virtual void on_solve(const SolveProgress& /*progress*/, double /*seconds*/) {}
  virtual void on_sweep(const SweepProgress& /*progress*/) {}
  virtual void on_update(const LayerUpdate& /*update*/, double /*seconds*/) {}
  virtual void on_pass(int /*pass*/, const NetworkQuality& /*quality*/, double /*seconds*/) {}

  // Either.
  virtual void on_race(double /*eta*/, double /*objective*/) {}  // a short run to find the radius of steps
  virtual void on_safe_point(bool /*epoch_ended*/) {}            // the state may be saved here
  virtual bool wants_to_save() { return false; }                 // there
  virtual bool stop_requested() { return false; }
  virtual double seconds_left() { return std::numeric_limits<double>::infinity(); }
};

class Recorder final : public TrainObserver, public RefineObserver {
 public:
  explicit Recorder(std::vector<RunObserver*> observers) : observers_(std::move(observers)) {}

  void add(RunObserver& observer) { observers_.push_back(&observer); }
  void count_seconds(std::function<double()> seconds) { seconds_ = std::move(seconds); }

  void begin_training(const TrainOptions& options, std::int64_t samples);
  void begin_refining(const RefineOptions& options);

  void on_race(double eta, double objective) override;
  bool stop_requested() override;

  void on_batch(int epoch, std::int64_t done, double running_loss) override;
  void on_epoch(const EpochResult& result) override;
  void on_safe_point(bool epoch_ended) override;

  void on_open(int pass, const std::string& layer) override;
  void on_progress(const SolveProgress& progress) override;
  void on_sweep_progress(const SweepProgress& progress) override;
  void on_update(const LayerUpdate& update) override;
  void on_pass(int pass, const NetworkQuality& quality) override;
  void on_safe_point() override;
  bool wants_to_save() override;
  double seconds_left() override;

 private:
  std::vector<RunObserver*> observers_;
  std::function<double()> seconds_;
};

}  // namespace lwsvm::run
