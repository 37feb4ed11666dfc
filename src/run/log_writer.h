// Writes what happens in a run to its log (report/run_log.h).
#pragma once

#include <string>

#include "report/run_log.h"
#include "run/recorder.h"

namespace lwsvm::run {

class LogWriter final : public RunObserver {
 public:
  explicit LogWriter(RunLog& log) : log_(log) {}  // which must outlive this

  void on_epoch(const EpochResult& result) override;
  void on_open(int pass, const std::string& layer) override;
  void on_solve(const SolveProgress& progress, double seconds) override;
  void on_update(const LayerUpdate& update, double seconds) override;

 private:
  RunLog& log_;
  int pass_ = 0;
  std::string layer_;
};

}  // namespace lwsvm::run
