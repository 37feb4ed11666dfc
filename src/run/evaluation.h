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
  NormalizeOptions normalize;
  std::string model;  // its file
  std::string output_name;
  std::string split = "test";
  std::optional<double> lambda;  // absent: that of the network
  std::string centre;            // empty: that of the network
  bool loss_given = false;       // else it is the one that the network was trained with
};

struct Evaluated {
  EvaluateSummary summary;
  std::string data;  // the data set's name
};

Evaluated run_evaluation(EvaluateJob job, const RunContext& context, RunInput input = {});

// The scores of every sample of the part, one row a sample.
std::vector<float> run_scores(EvaluateJob job, const RunContext& context, RunInput input = {});

}  // namespace lwsvm::run
