#include "lwsvm/layer_memory.h"

#include <algorithm>

#include "lwsvm/layer_models.h"
#include "lwsvm/sweep.h"
#include "lwsvm/tail_runner.h"
#include "net/batch_runner.h"

namespace lwsvm {
namespace {

// A list of at most every other class (label_blocks.h).
std::uint64_t max_label_bytes(std::int64_t samples, std::int64_t classes) {
  return static_cast<std::uint64_t>(samples * (4 + 12 * (classes - 1)));
}

}  // namespace

// Of the layer: in float w_t (three times: problem, solver, update), the centre, w, the change of Psi and the
// candidate; in double Psi, w, the average and, for a candidate, the average's w and the point at which it is
// judged. Of the network: the start, the best, the centre, and a file that is being written, its weights
// three times.
std::uint64_t weight_bytes(const Graph& network, int open_node) {
  const auto size = static_cast<std::uint64_t>(network.node(open_node).trained.size);
  return size * (7 * sizeof(float) + 6 * sizeof(double)) + network.parameters().size() * 6 * sizeof(float);
}

// Of what is moved: a gradient for each chunk of a batch; the start of a sweep, the average of its last
// iterates, the best of the race and a candidate. Of the network: delta, its part that comes from chunks of
// another size, the step's two means and the regulariser's gradient, and the weights as the kernels have
// them, for two sizes of chunks in each of two sizes of batches; the start, the best, the centre, and a file
// that is being written, its weights three times.
std::uint64_t sweep_bytes(const Graph& network, std::span<const int> layers) {
  std::int64_t moved = 0;
  for (int node : layers) moved += network.node(node).trained.size;
  const auto chunks = static_cast<std::int64_t>(BatchRunner::chunk_count(Sweeper::kBatch));
  return bytes_of_floats((chunks + 4) * moved + (5 + 4 + 6) * std::ssize(network.parameters()));
}

LayerMemory tail_memory(const LayerProblemOptions& options, const Decomposition& decomposition,
                        const Program& program, const Graph& network, int open_node, std::int64_t samples) {
  const Node& open = network.node(open_node);
  LayerMemory memory;
  // Also the layer's weights as its kernels have them, and the weights of the tail, decomposed and packed.
  memory.weights = weight_bytes(network, open_node) + bytes_of_floats(2 * open.trained.size) +
                   decomposition.graph.parameters().size() * 2 * sizeof(float);
  memory.patterns = PatternCache::bytes_for(program.replayed_patterns(), samples);
  const std::int64_t outputs = element_count(open.shape);
  const auto offsets = static_cast<std::uint64_t>(samples) * sizeof(double);
  if (decomposition.labels_only) {
    memory.form = "labels";
    memory.blocks = max_label_bytes(samples, decomposition.classes);
    return memory;
  }
  memory.slopes = slope_bytes_for(samples, outputs);
  const bool dense = open.layer->kind() == LayerKind::dense;
  memory.form = dense ? "factored" : "explicit";
  memory.blocks = offsets + (dense ? bytes_of_floats(samples * outputs)
                                   : std::min(bytes_of_floats(samples * open.trained.size),
                                              memory_for_blocks(options.memory)));
  return memory;
}

std::uint64_t left_for_inputs(std::uint64_t taken, const LayerProblemOptions& options) {
  const std::uint64_t others = taken + options.taken;
  return others < options.memory ? options.memory - others : 0;
}

LayerMemory memory_of(const Graph& network, int open_node, std::int64_t samples,
                      const LayerProblemOptions& options) {
  const Tail tail = cut_tail(network, open_node);
  const Node& open = network.node(open_node);
  LayerMemory memory;
  std::int64_t row = element_count(network.node(open.inputs[0]).shape);
  for (int node : tail.frontier) row += element_count(network.node(node).shape);
  if (const auto end = exact_end(network, tail, options)) {
    memory.form = "exact";
    memory.weights = weight_bytes(network, open_node);
    memory.blocks = max_label_bytes(samples, open.shape[0]);
    row = element_count(end->network.node(end->network.node(end->node).inputs[0]).shape);
  } else {
    const Decomposition decomposition = decompose(tail, options.free_layers, options.split);
    const Program program(decomposition.graph, tail_options(decomposition));
    memory = tail_memory(options, decomposition, program, network, open_node, samples);
  }
  memory.inputs = bytes_of_floats(samples * row);
  const bool exact = memory.form == "exact";  // whose blocks are too small to count
  memory.inputs_fit =
      memory.inputs <= left_for_inputs(exact ? memory.weights : memory.without_inputs(), options);
  return memory;
}

std::uint64_t slope_bytes_for(std::int64_t samples, std::int64_t outputs) {
  return bytes_of_floats(samples * outputs);
}

int batch_that_fits(std::int64_t dimension, std::uint64_t memory, int wanted) {
  const std::uint64_t fits = memory / 4 / bytes_of_floats(dimension);
  return static_cast<int>(std::clamp<std::uint64_t>(fits, 1, static_cast<std::uint64_t>(wanted)));
}

}  // namespace lwsvm
