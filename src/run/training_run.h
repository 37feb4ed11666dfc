// A run of `lwsvm train`: from a job to a written network.
#pragma once

#include "lwsvm/train.h"
#include "run/run_context.h"
#include "run/train_job.h"

namespace lwsvm::run {

struct Trained {
  TrainSummary summary;
  Model model;
};

// Trains, with log and checkpoints where there is a run folder, and writes the network; after Ctrl-C, or when
// an observer asks for it, the network so far. Throws Error on bad input and where the loss is no longer a
// number.
Trained run_training(TrainJob job, const RunContext& context, RunInput input = {});

}  // namespace lwsvm::run
