// A run of `lwsvm refine`: from a job to a written network.
#pragma once

#include "lwsvm/refine.h"
#include "run/refine_job.h"
#include "run/run_context.h"

namespace lwsvm::run {

RefineUpdate to_public(const LayerUpdate& update);

struct Refined {
  RefineSummary summary;
  Model model;
};

// Refines, with log and checkpoints where there is a run folder, and writes the best network; also when time
// is up, after Ctrl-C, and when an observer asks for it. Throws Error on bad input.
Refined run_refinement(RefineJob job, const RunContext& context, RunInput input = {});

}  // namespace lwsvm::run
