// What --memory cannot hold. Sweeps cannot do with less than their buffers, so without room for these there
// are none. Nor can an opened layer, whatever the number of samples; that it takes more is said.
#pragma once

#include "base/messages.h"
#include "lwsvm/refine_options.h"
#include "net/graph.h"

namespace lwsvm::run {

// Of automatic moves only layer updates are left then, and that is said; otherwise these get what sweeps
// leave. Throws Error where there shall be nothing but sweeps.
void keep_sweeps_within_memory(const Graph& network, RefineOptions& options, Messages& messages);

// Of the memory that is left after that.
void tell_of_layers_beyond_memory(const Graph& network, const RefineOptions& options, Messages& messages);

}  // namespace lwsvm::run
