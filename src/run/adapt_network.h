// The network with a new last layer for the classes of the data, and with what its users did to their pixels
// in front of it; what was found is said, and noted in the state.
#pragma once

#include "base/messages.h"
#include "run/adapt_job.h"
#include "run/adapt_state.h"

namespace lwsvm::run {

Model transplanted(const AdaptJob& job, const Model& original, const DataSet& data, const Threads& threads,
                   AdaptState& state, Messages& messages);

}  // namespace lwsvm::run
