// What `lwsvm svm` does: a plain multi-class linear SVM [CS01] on raw pixels or LIBSVM files, with a
// certificate.
//
// The layer solver with mu = 0 and nothing in front of it: what LIBLINEAR solves with -s 4 -B 1. What it
// reports comes from the evaluator that `lwsvm eval` uses, so that both say the same of the file written.
#pragma once

#include <functional>
#include <string>

#include "lwsvm/svm.h"
#include "run/run_context.h"
#include "run/svm_data.h"
#include "run/task.h"
#include "ssvm/multiclass_svm.h"

namespace lwsvm::run {

struct SvmJob {
  SvmDataOptions source;
  PixelSettings pixels;
  MulticlassSvmOptions solver;
  std::string delta;           // CSV of the margin matrix; empty: `margins`
  std::vector<float> margins;  // the matrix, row = predicted; empty: 0-1
  std::string output;          // empty: no network is written
};

struct TrainedSvm {
  SvmSummary summary;
  Model model;  // without a graph where it was not asked for and features are sparse
};

// `on_progress` returns false to stop. Throws Error on bad input.
TrainedSvm run_svm(SvmJob job, const RunContext& context,
                   const std::function<bool(const SvmProgress&)>& on_progress, RunInput input = {});

}  // namespace lwsvm::run
