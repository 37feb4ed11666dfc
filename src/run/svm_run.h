// What `lwsvm svm` does: a plain multi-class linear SVM [CS01] on raw pixels or LIBSVM files, with a
// certificate.
//
// The layer solver with mu = 0 and nothing in front of it: what LIBLINEAR solves with -s 4 -B 1. What it
// reports comes from the evaluator that `lwsvm eval` uses, so that both say the same of the file written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "run/run_context.h"
#include "run/svm_data.h"
#include "run/task.h"
#include "ssvm/multiclass_svm.h"

namespace lwsvm {

struct SvmSummary {
  double objective = 0, dual = 0;
  double gap = 0, relative_gap = 0;  // objective - dual, and as a share of the objective
  double train_accuracy = 0;
  std::optional<double> val_accuracy, test_accuracy;
  double lambda = 0;
  double c = 0;  // what LIBLINEAR calls lambda: 1 / (lambda N)
  std::int64_t samples = 0, features = 0;
  int classes = 0;
  int epochs = 0;
  std::uint64_t visits = 0, dual_bytes = 0;
  double seconds = 0;
  std::string reason;  // why it ended
  bool finished = true;
  std::string model;  // the file that was written; empty: none
};

// primal and gap are estimates, but for the last report, which is made when all is done.
struct SvmProgress {
  int epoch = 0;  // finished epochs
  bool epoch_end = false;
  double primal = 0, dual = 0, gap = 0;
  double seconds = 0;

  double relative_gap() const { return primal > 0 ? gap / primal : 0; }
};

}  // namespace lwsvm

namespace lwsvm::run {

struct SvmJob {
  SvmDataOptions source;
  NormalizeOptions normalize;
  MulticlassSvmOptions solver;
  std::string delta;   // CSV of the margin matrix; empty: 0-1
  std::string output;  // empty: no network is written
};

struct TrainedSvm {
  SvmSummary summary;
  Model model;  // without a graph where it was not asked for and features are sparse
};

// `on_progress` returns false to stop. Throws Error on bad input.
TrainedSvm run_svm(SvmJob job, const RunContext& context,
                   const std::function<bool(const SvmProgress&)>& on_progress, RunInput input = {});

}  // namespace lwsvm::run
