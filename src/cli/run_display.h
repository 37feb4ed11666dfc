// Shows a run while it runs: a bar on a terminal, a line for every epoch and every move.
#pragma once

#include <optional>
#include <string>

#include "base/progress.h"
#include "run/recorder.h"

namespace lwsvm::cli {

class RunDisplay final : public run::RunObserver {
 public:
  explicit RunDisplay(Terminal& terminal) : terminal_(terminal) {}

  void on_training(const TrainOptions& options, std::int64_t samples) override;
  void on_batch(int epoch, std::int64_t done, double running_loss) override;
  void on_epoch(const EpochResult& result) override;

  void on_refining(const RefineOptions& options) override;
  void on_open(int pass, const std::string& layer) override;
  void on_solve(const SolveProgress& progress, double seconds) override;
  void on_sweep(const SweepProgress& progress) override;
  void on_update(const LayerUpdate& update, double seconds) override;
  void on_pass(int pass, const NetworkQuality& quality, double seconds) override;

  void on_race(double eta, double objective) override;

 private:
  Terminal& terminal_;
  std::optional<Progress> bar_;
  std::int64_t samples_ = 0;  // of an epoch
  int epochs_ = 0;
  int max_epochs_ = 0;  // of one inner solve
};

}  // namespace lwsvm::cli
