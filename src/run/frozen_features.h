// What a frozen part makes of the samples of a task, as a file of the cache: by the network's bytes, how
// pixels are normalised, the node, the data, their copies and the instruction set.
#pragma once

#include <string>

#include "run/feature_store.h"
#include "run/run_context.h"
#include "run/task.h"

namespace lwsvm::run {

// For the values of the node `cut` of the network that was read from `input`; so far in memory without limit.
FeatureOptions feature_options(const Model& model, int cut, const std::string& input, const Task& task,
                               const std::string& augment, const SampleSource& all, const CacheFolder& cache,
                               const RunContext& context);

}  // namespace lwsvm::run
