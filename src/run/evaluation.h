// What `lwsvm eval` does: loss, objective and accuracy of a network on a part of a data set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "run/run_context.h"
#include "run/task.h"

namespace lwsvm {

struct EvaluateSummary {
  double objective = 0;    // loss + regulariser
  double loss = 0;         // mean over the samples
  double regulariser = 0;  // as the network's file remembers it
  double lambda = 0;
  double accuracy = 0;  // correct / samples
  std::int64_t samples = 0, correct = 0;
  std::string data;  // name of the data set
};

}  // namespace lwsvm

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

EvaluateSummary run_evaluation(EvaluateJob job, const RunContext& context, RunInput input = {});

}  // namespace lwsvm::run
