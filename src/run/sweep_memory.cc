#include "run/sweep_memory.h"

#include "base/error.h"
#include "base/units.h"
#include "lwsvm/layer_memory.h"

namespace lwsvm::run {

void keep_sweeps_within_memory(const Graph& network, RefineOptions& options, Messages& messages) {
  if (options.moves == Moves::layers || options.mode == RefineMode::paper) return;
  const std::uint64_t bytes = sweep_bytes(network, options.layers);
  const std::string taken = format_bytes(static_cast<double>(bytes));
  const std::string memory = format_bytes(static_cast<double>(options.memory));
  if (options.moves == Moves::sweeps) {
    if (bytes > options.memory)
      fail("refine",
           "sweeps over these layers take {}, more than --memory {}; raise it, name fewer --layers, or use "
           "--moves layers",
           taken, memory);
    return;
  }
  if (bytes <= options.memory) {
    options.memory -= bytes;  // kept while layers are opened, too
    return;
  }
  options.moves = Moves::layers;
  messages.line("sweeps over all layers at once are left out: they take {}, more than --memory {}", taken,
                memory);
}

}  // namespace lwsvm::run
