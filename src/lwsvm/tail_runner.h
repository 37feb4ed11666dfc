// The tail after the open layer, run on chunks: z from LayerInputs, u = W z + b by OpenLayer, the tail by a
// Program that replays the patterns of its frozen layers, and back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sample_source.h"
#include "dc/decompose.h"
#include "lwsvm/layer_chunks.h"
#include "lwsvm/layer_data.h"
#include "lwsvm/layer_problem_options.h"
#include "lwsvm/open_layer.h"

namespace lwsvm {

class TailRunner {
 public:
  TailRunner(const Graph& network, const Tail& tail, const SampleSource& source,
             std::span<const std::int32_t> labels, const LayerProblemOptions& options,
             const Threads& threads);

  const Decomposition& decomposition() const { return decomposition_; }
  OpenLayer& layer() { return layer_; }
  LayerInputs& inputs() { return inputs_; }
  const Threads& threads() const { return threads_; }
  std::int64_t samples() const { return static_cast<std::int64_t>(labels_.size()); }
  std::int32_t label(std::int32_t sample) const { return labels_[static_cast<std::size_t>(sample)]; }
  std::uint64_t cache_bytes() const { return inputs_.bytes() + patterns_.bytes() + slope_bytes(); }

  // visit(first position, samples of the chunk, worker) over chunks of `samples`.
  template <typename Visit>
  void for_chunks(std::span<const std::int32_t> samples, const Visit& visit) const {
    inputs_.expect(samples);
    for_layer_chunks(samples, threads_, visit);
  }

  struct WorkerBuffers {
    AlignedBuffer<float> inputs, outputs;  // z and u of the chunk
    AlignedBuffer<float> scratch;
    std::vector<float*> targets;
    Workspace workspace;
  };
  WorkerBuffers& buffers(int worker) { return buffers_[static_cast<std::size_t>(worker)]; }

  // z and frontier, u at the layer's loaded weights, the tail with frozen patterns replayed (or recorded, at
  // w_t). Returns the blocks S, D, K, one row per sample.
  const float* forward(std::span<const std::int32_t> samples, int worker,
                       PatternUse use = PatternUse::replay);
  // Where the derivatives with respect to the blocks go, zeroed; one row per sample.
  float* clear_seeds(int worker);
  // Patterns alone: enough for a backward pass when nothing is free.
  void load_patterns(std::span<const std::int32_t> samples, int worker);
  // The derivative at u for the seeds, one row per sample.
  const float* backward(int worker);
  // psi of each sample of the chunk for these derivatives at u; convolutions. inputs: the worker's z.
  void slope_rows(const float* slopes, std::size_t count, float* rows, int worker);

  // K_{y_i} linearised at w_t is <slope, u> + offset.
  const float* concave_slope(std::int32_t sample) const {
    return concave_slopes_.data() + sample * layer_.output_size();
  }
  double concave_offset(std::int32_t sample) const {
    return concave_offsets_[static_cast<std::size_t>(sample)];
  }

 private:
  void record_at_anchor(std::span<const float> anchor, std::uint64_t budget);
  std::uint64_t slope_bytes() const { return concave_slopes_.size() * sizeof(float); }

  std::span<const std::int32_t> labels_;
  Threads threads_;
  Decomposition decomposition_;
  Program program_;
  OpenLayer layer_;
  LayerInputs inputs_;
  PatternCache patterns_;
  std::vector<WorkerBuffers> buffers_;
  AlignedBuffer<float> concave_slopes_;  // samples x u, when something is free
  std::vector<double> concave_offsets_;
};

// How a TailRunner's program is made.
ProgramOptions tail_options(const Decomposition& decomposition);

}  // namespace lwsvm
