// What an opened layer's problem keeps in memory, before it is built, and how a budget is shared out.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lwsvm/layer_problem_options.h"
#include "net/graph.h"
#include "net/program.h"

namespace lwsvm {

// What an open layer takes, in bytes, beside what any run of the network does.
struct LayerMemory {
  std::string form;            // as LayerProblem::form()
  std::uint64_t patterns = 0;  // of the frozen layers after it
  std::uint64_t slopes = 0;    // of the concave part
  std::uint64_t blocks = 0;    // of the dual; label blocks at most
  std::uint64_t weights = 0;   // buffers of the weights' size: solver, candidates, network
  std::uint64_t inputs = 0;    // z and the frontier
  bool inputs_fit = true;      // else they are computed again for every chunk, and take nothing

  std::uint64_t without_inputs() const { return patterns + slopes + blocks + weights; }
  std::uint64_t total() const { return without_inputs() + (inputs_fit ? inputs : 0); }
};

// What the problem would take for so many samples, without building it.
LayerMemory memory_of(const Graph& network, int open_node, std::int64_t samples,
                      const LayerProblemOptions& options);
// What searching beyond the labels must keep of a layer with `outputs` outputs: one slope per sample.
std::uint64_t slope_bytes_for(std::int64_t samples, std::int64_t outputs);
// One psi for each block of a batch takes at most a quarter of the memory.
int batch_that_fits(std::int64_t dimension, std::uint64_t memory, int wanted);
// Explicit blocks may take half of it.
inline std::uint64_t memory_for_blocks(std::uint64_t memory) {
  return memory / 2;
}

// What a TailRunner keeps: all but the inputs, which can be computed again.
LayerMemory tail_memory(const LayerProblemOptions& options, const Decomposition& decomposition,
                        const Program& program, const Graph& network, int open_node, std::int64_t samples);
// What sweeps that move these layers take, in buffers of the weights' size, beside what any run of the
// network does. Kept while layers are opened, too, if both moves are made.
std::uint64_t sweep_bytes(const Graph& network, std::span<const int> layers);
// Buffers of the weights' size that every form has.
std::uint64_t weight_bytes(const Graph& network, int open_node);
// What of the memory is left for the inputs once everything that cannot be recomputed has its share.
std::uint64_t left_for_inputs(std::uint64_t taken, const LayerProblemOptions& options);

inline std::uint64_t bytes_of_floats(std::int64_t count) {
  return static_cast<std::uint64_t>(count) * sizeof(float);
}

}  // namespace lwsvm
