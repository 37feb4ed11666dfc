// What `lwsvm eval` does: loss, objective and accuracy of a network on a part of a data set.
#pragma once

#include <optional>
#include <string>

#include "lwsvm/evaluate.h"
#include "run/run_context.h"
#include "run/task.h"

namespace lwsvm::run {

struct EvaluateJob {
  TaskOptions task;
  PixelSettings pixels;
  std::string model;  // the network's file, if it has one: for messages, and to find its centre from there
  std::string split = "test";
  bool dense = false;            // dense_evaluation.h; photos are read again from job.task.data
  std::optional<double> lambda;  // absent: that of the network
  std::string centre;            // empty: that of the network
  bool loss_given = false;       // else it is the one that the network was trained with
};

EvaluateSummary run_evaluation(const EvaluateJob& job, const RunContext& context, RunInput input);

// The scores of every sample of the part, one row per sample.
std::vector<float> run_scores(const EvaluateJob& job, const RunContext& context, RunInput input);

}  // namespace lwsvm::run
