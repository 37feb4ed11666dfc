// One batch through the network and back: the mean loss's gradient with respect to every learnt parameter.
//
// The batch is cut into chunks whose sizes do not depend on the number of threads; each chunk goes through
// the whole network (or up to the next batch normalisation, which needs everybody's sums) on one thread, its
// activations in that core's cache. Gradients of chunks are added in chunk order. So the bits do not depend
// on the threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/sample_source.h"
#include "engine/threads.h"
#include "net/graph.h"
#include "net/loss.h"
#include "net/program.h"

namespace lwsvm {

struct BatchRunnerOptions {
  std::vector<int> learn;  // the nodes to differentiate; all with parameters if empty
  bool training = true;    // batch statistics and dropout; otherwise both are frozen, as in evaluation
  int from = -1;           // the node whose values the samples are; -1: the network's input
};

class BatchRunner {
 public:
  BatchRunner(Graph& graph, const Threads& threads, BatchRunnerOptions options = {});

  // A batch is cut into so many chunks at most; for each there is a gradient, as large as what is learnt, in
  // memory.
  static std::size_t chunk_count(std::size_t batch_size);

  // Gradient (of the graph's parameters, others untouched) of the mean loss over the samples of `batch`. Also
  // moves the running averages of batch normalisation. `draw` names the random numbers of this step.
  LossSums differentiate(const SampleSource& source, std::span<const std::int32_t> batch, const Loss& loss,
                         std::uint64_t draw, std::vector<float>& gradient);

 private:
  struct Chunk {
    std::size_t begin = 0, size = 0;  // of the batch
    Program* program = nullptr;
    Workspace* workspace = nullptr;  // null: that of the worker (networks without batch normalisation)
    float* packed_gradient = nullptr;
    LossSums sums;
  };
  // All programs and buffers for one batch size.
  struct Plan {
    std::vector<std::unique_ptr<Program>> programs;  // by chunk size, at most two
    std::vector<Chunk> chunks;
    std::vector<Workspace> workspaces;  // one per chunk, or one per worker
    std::size_t packed_floats = 0;      // of one chunk's gradient
    std::vector<std::int32_t> labels;
  };

  static std::vector<std::size_t> chunk_ends(std::size_t batch_size, std::size_t group);
  Plan& plan_for(std::size_t batch_size);
  void run_through(Plan& plan, const SampleSource& source, std::span<const std::int32_t> batch,
                   const Loss& loss, std::uint64_t draw);
  void run_in_stages(Plan& plan, const SampleSource& source, std::span<const std::int32_t> batch,
                     const Loss& loss, std::uint64_t draw);
  void add_up(Plan& plan, std::vector<float>& gradient);
  void read_chunk(const Chunk& chunk, Workspace& workspace, const SampleSource& source,
                  std::span<const std::int32_t> batch, Plan& plan) const;
  void compute_loss(Chunk& chunk, Workspace& workspace, const Plan& plan, std::size_t batch_size,
                    const Loss& loss) const;
  template <typename Gather, typename Settle>
  void with_sums(Plan& plan, int barrier, const Gather& gather, const Settle& settle);

  Graph& graph_;
  const Threads& threads_;
  BatchRunnerOptions options_;
  std::map<std::size_t, Plan> plans_;
  AlignedBuffer<float> packed_gradients_;  // of the chunks of the batch at hand, whatever its size
  std::vector<float> unpacked_;
};

}  // namespace lwsvm
