// One opened layer as a structured SVM: the models that the oracles of src/ssvm ask.
//
//   H_i(w) = max_y [ Delta(y, y_i) + S_y(w) ] + D_{y_i}(w) - (K_{y_i} linearised at w_t)(w)
//
// with S, D, K from src/dc. Three forms, by what is searched and what the layer is:
//   labels     nothing behind it is free: scores are linear in w, blocks remember a point of the simplex
//   factored   a dense layer, any search space: blocks remember delta in R^p              [BZK17, Prop. 5]
//   explicit   a convolution, search space beyond the labels: blocks remember psi itself
// and for a last layer that is a linear SVM (last_layer.h), the exact solver SvmLayer.
//
// Work is done chunk by chunk: z from LayerInputs, u = W z + b by OpenLayer, the tail by a Program that
// replays the patterns of its frozen layers, and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/margin_matrix.h"
#include "base/sample_source.h"
#include "dc/decompose.h"
#include "lwsvm/layer_data.h"
#include "lwsvm/open_layer.h"
#include "ssvm/frank_wolfe.h"
#include "ssvm/label_oracle.h"
#include "ssvm/plane_oracles.h"
#include "ssvm/svm_layer.h"

namespace lwsvm {

struct LayerProblemOptions {
  int from = -1;        // the node whose values the samples are; -1: the network's input
  int free_layers = 0;  // how many of the last piecewise linear layers are searched
  LossSplit split = LossSplit::tight;
  StepRule step_rule = StepRule::per_block;
  bool exact_svm_layer = true;  // Frank-Wolfe steps there too, if false
  std::uint64_t memory = std::uint64_t{4} << 30;
  std::uint64_t taken = 0;  // of the memory, by others: the inputs are kept only if they fit beside it
};

// What an open layer takes, in bytes, beside what any run of the network does.
struct LayerMemory {
  std::string form;            // as LayerProblem::form()
  std::uint64_t patterns = 0;  // of the frozen layers behind it
  std::uint64_t slopes = 0;    // of the concave part
  std::uint64_t blocks = 0;    // of the dual; label blocks at most
  std::uint64_t weights = 0;   // buffers of the weights' size: solver, candidates, network
  std::uint64_t inputs = 0;    // z and the frontier
  bool inputs_fit = true;      // else they are computed again for every chunk, and take nothing

  std::uint64_t without_inputs() const { return patterns + slopes + blocks + weights; }
  std::uint64_t total() const { return without_inputs() + (inputs_fit ? inputs : 0); }
};

// The tail behind the open layer, run on chunks.
class TailRunner {
 public:
  static constexpr int chunk = 24;  // a multiple of six: no row of a product needs padding (engine/gemm.h)

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
    const int count = static_cast<int>((samples.size() + chunk - 1) / chunk);
    threads_.for_each(count, [&](int piece, int worker) {
      const std::size_t first = static_cast<std::size_t>(piece) * chunk;
      visit(first, samples.subspan(first, std::min<std::size_t>(chunk, samples.size() - first)), worker);
    });
  }

  // The buffers of one worker.
  struct Lane {
    AlignedBuffer<float> inputs, outputs;  // z and u of the chunk
    AlignedBuffer<float> scratch, packed, row;
    std::vector<float*> targets;
    Workspace workspace;
  };
  Lane& lane(int worker) { return lanes_[static_cast<std::size_t>(worker)]; }

  // z and frontier, u at the layer's loaded weights, the tail with frozen patterns replayed (or recorded, at
  // w_t). Returns the blocks S, D, K, a row a sample.
  const float* forward(std::span<const std::int32_t> samples, int worker,
                       PatternUse use = PatternUse::replay);
  // Where the derivatives with respect to the blocks go, zeroed; a row a sample.
  float* clear_seeds(int worker);
  // Patterns alone: enough for a backward pass when nothing is free.
  void load_patterns(std::span<const std::int32_t> samples, int worker);
  // The derivative at u for the seeds, a row a sample.
  const float* backward(int worker);
  // psi of each sample of the chunk for these derivatives at u; convolutions. inputs: lane's z.
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
  std::vector<Lane> lanes_;
  AlignedBuffer<float> concave_slopes_;  // samples x u, when something is free
  std::vector<double> concave_offsets_;
};

class LayerProblem {
 public:
  // Linearises at the network's current weights. The network must not change while the problem lives.
  LayerProblem(const Graph& network, int open_node, const SampleSource& source, const MarginMatrix& margins,
               const LayerProblemOptions& options, const Threads& threads);
  ~LayerProblem();

  BlockAscent& blocks() { return *blocks_; }
  Oracle* oracle();  // null in the exact form
  std::vector<float> anchor() const { return anchor_; }
  bool is_svm_layer() const {
    return is_svm_layer_;
  }  // the model is exact: nothing but linear maps behind the layer
  std::string form() const { return form_; }
  std::uint64_t cache_bytes() const;

 private:
  struct Models;
  std::vector<std::int32_t> labels_;
  std::vector<float> anchor_;
  Tail tail_;
  bool is_svm_layer_ = false;
  std::string form_;
  std::unique_ptr<TailRunner> runner_;
  std::unique_ptr<LayerInputs> svm_inputs_;
  std::unique_ptr<Models> models_;
  std::unique_ptr<BlockAscent> blocks_;
};

// What the problem would take for so many samples, without building it.
LayerMemory memory_of(const Graph& network, int open_node, std::int64_t samples,
                      const LayerProblemOptions& options);
// The search space that a layer starts with: Y (nothing free) for convolutions, everything for dense layers,
// which [BZK17, Obs. 1] and the authors' code choose too.
int automatic_free_layers(const Graph& network, int open_node, std::int64_t samples, std::uint64_t memory);
// How many piecewise linear layers lie behind a layer: the largest search space.
int free_layer_count(const Graph& network, int open_node);
// What searching beyond the labels must keep of a layer with `outputs` outputs: a slope a sample.
std::uint64_t slope_bytes_for(std::int64_t samples, std::int64_t outputs);
// One psi for each block of a batch takes at most a quarter of the memory.
int batch_that_fits(std::int64_t dimension, std::uint64_t memory, int wanted);
// Explicit blocks may take half of it.
inline std::uint64_t memory_for_blocks(std::uint64_t memory) {
  return memory / 2;
}

}  // namespace lwsvm
