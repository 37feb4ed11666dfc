// A reproduction of an experiment of the paper, part by part.
#pragma once

#include <string>

#include "reproduce/plan.h"
#include "reproduce/results.h"
#include "run/run_context.h"

namespace lwsvm::reproduce {

struct Reproduction {
  Plan plan;
  PartResults results;
  bool finished = false;  // false: stopped; the same call goes on
};

// Runs what is not finished yet, and writes tables and a page into the plan's folder. Throws Error.
Reproduction reproduce(const ReproduceOptions& options, run::RunContext context);

}  // namespace lwsvm::reproduce
