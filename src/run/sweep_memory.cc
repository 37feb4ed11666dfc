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

void tell_of_layers_beyond_memory(const Graph& network, const RefineOptions& options, Messages& messages) {
  if (options.moves == Moves::sweeps) return;
  for (const int node : options.layers) {
    const std::uint64_t bytes = weight_bytes(network, node);
    if (bytes > options.memory)
      messages.line(
          "layer '{}' will take {} while it is open, for buffers of its weights' size alone: more than the "
          "{} "
          "that --memory leaves it",
          network.node(node).name, format_bytes(static_cast<double>(bytes)),
          format_bytes(static_cast<double>(options.memory)));
  }
}

}  // namespace lwsvm::run
