// A run of `lwsvm adapt`: from a job to a written network.
//
//   the last layer goes, one for the data's classes comes          model/onnx_new_head.h
//   normalisation moves into the file                              adapt_pixels.h
//   what will not change is run once per sample                    feature_store.h
//   the new layer is solved exactly, lambda by validation          adapt_head.h
//   older layers are moved, if that is better by validation        adapt_deeper.h, adapt_copies.h
//   what was chosen is done once more with all samples
#pragma once

#include "lwsvm/adapt.h"
#include "run/adapt_job.h"
#include "run/run_context.h"

namespace lwsvm::run {

// In the run folder: the network with its new last layer, before any other was touched.
inline constexpr const char* kHeadFile = "head.onnx";

struct Adapted {
  AdaptSummary summary;
  Model model;
};

// With log and checkpoints where there is a run folder; writes the best network, also when time is up, after
// Ctrl-C once there is one, and when an observer asks for it. Throws Error on bad input.
Adapted run_adaptation(AdaptJob job, const RunContext& context, RunInput input = {});

}  // namespace lwsvm::run
