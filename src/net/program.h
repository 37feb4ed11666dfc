// A graph made ready to run on a fixed number of samples: kernels, an order of steps, and one arena of
// memory.
//
// The arena is planned once: every value and every gradient has a lifetime on the line
//   forward step 0, 1, ..., S-1, loss, backward step S-1, ..., 0
// and two that never live at the same time may share memory. Values stay alive for the backward pass only
// where a kernel keeps its inputs; piecewise linear layers run in place and leave a pattern of one byte per
// element.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/tensor.h"
#include "net/graph.h"
#include "net/kernel.h"

namespace lwsvm {

struct ProgramOptions {
  int samples = 1;
  int from = -1;    // a node that everything goes through: its value is the input; -1: the graph's inputs
  int target = -1;  // the node to compute; -1: the scores
  std::vector<int> extra_targets;    // further nodes whose values are wanted
  bool training = false;             // batch statistics, dropout
  std::vector<int> learn;            // nodes whose parameter gradient is wanted
  std::vector<int> input_gradients;  // graph inputs whose gradient is wanted
  bool record_patterns = false;      // also without a backward pass
  std::vector<int> free_nodes;       // nodes that choose their pieces anew when the others replay theirs
  Layout image_layout =
      Layout::channels_first;  // how the caller writes images into the inputs and reads the output
};

// Where in Workspace::patterns the pattern of one replayed layer lies: groups of samples, as the layer's
// values (TensorSpec::lanes); in each the samples' bytes in turn.
struct PatternSection {
  std::size_t offset = 0, bytes_per_sample = 0;
  int bits = 8;  // of each byte that tell
  int lanes = 1;
};

// The memory of one chunk of samples on its way through a Program.
struct Workspace {
  AlignedBuffer<float> arena;
  AlignedBuffer<std::uint8_t> patterns;
  AlignedBuffer<float> scratch;
  std::vector<const float*> input_pointers;  // argument lists, kept so that running a step allocates nothing
  std::vector<float*> gradient_pointers;
};

// In what groups the samples of a batch go through the nodes after `from`: 1, or the lanes of a register
// where some layer wants them interleaved. Chunks of whole groups lose no time.
std::size_t group_size(const Graph& graph, int from);

struct ArenaBlock;

class Program {
 public:
  Program(const Graph& graph, const ProgramOptions& options);

  int samples() const { return options_.samples; }
  Workspace make_workspace() const;
  void fit(Workspace& workspace) const;  // grows what is too small for this program; contents are lost
  std::size_t arena_floats() const { return arena_floats_; }
  std::size_t pattern_bytes() const { return pattern_bytes_; }
  bool differentiates() const { return differentiates_; }

  // Reads the graph's parameters and statistics; they must outlive the calls below. Not while a forward is
  // running.
  void load(const Graph& graph);

  std::vector<PatternSection> replayed_patterns() const;

  // Inputs are written, and the output is read, in the order of ProgramOptions::image_layout.
  float* input(Workspace& workspace, int graph_input = 0) const;
  const float* output(const Workspace& workspace) const;
  const float* extra_output(const Workspace& workspace, int index) const;
  float* output_gradient(Workspace& workspace) const;
  const float* input_gradient(const Workspace& workspace, int graph_input = 0) const;
  const TensorSpec& output_spec() const { return values_[static_cast<std::size_t>(target_value_)].spec; }

  // Steps that need sums over the whole batch split the run into stages: stage k of forward ends with the
  // k-th such step's gather (into `sums`), and stage k + 1 begins with its forward. Without such steps there
  // is one stage.
  int stages() const { return static_cast<int>(barriers_.size()) + 1; }
  std::size_t sums(int barrier) const;
  void forward(Workspace& workspace, PatternUse use, int stage = 0, double* sums = nullptr,
               std::uint64_t draw = 0) const;
  void settle(int barrier, std::span<const double> sums, std::int64_t batch);
  // Backward stages run in the opposite order: stage stages()-1 first; stage k ends with barrier k-1's
  // gather.
  void backward(Workspace& workspace, float* packed_gradient, int stage, double* sums = nullptr) const;
  void settle_backward(int barrier, std::span<const double> sums, std::int64_t batch);
  void backward(Workspace& workspace, float* packed_gradient) const {
    backward(workspace, packed_gradient, 0);
  }

  // Parameter gradients of all learning nodes, side by side in the kernels' own orders.
  std::size_t packed_gradient_floats() const { return packed_floats_; }
  // Into the graph's order: the learning nodes' ranges of `gradient` are overwritten.
  void unpack_gradient(const Graph& graph, const float* packed, float* gradient) const;
  void update_statistics(const Graph& graph, float* statistics) const;

 private:
  struct Value {
    TensorSpec spec;
    int producer = -1;            // step; -1: an input of the graph
    std::vector<int> consumers;   // steps, a step twice if it takes the value twice
    bool differentiated = false;  // something that is learnt lies after it
    int root = -1;                // the value whose memory it uses, itself if its own
    int gradient_root = -1;
    std::int64_t offset = 0, gradient_offset = 0;
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<int> inputs;  // values
    int output = -1;
    int node = -1;  // -1: a change of layout
    bool learns = false;
    bool is_free = false;     // records where others replay
    std::size_t pattern = 0;  // where its pattern and its packed gradient begin
    std::size_t packed = 0;
    std::vector<std::int64_t>
        detour;  // per input: -1, or where its gradient is put before being added to the rest
  };

  TensorSpec spec_for(const Shape& shape, Layout layout) const;
  Layout layout_of(const Layer& layer, const std::vector<int>& inputs) const;
  int layout_for(int value, Layout layout);
  void add_step(const Graph& graph, int node, CompileRequest request);
  void push_step(Step step, const TensorSpec& output, bool differentiated);

  void share_memory();
  void plan_memory();
  void plan_values(std::vector<ArenaBlock>& blocks) const;
  void plan_gradients(std::vector<ArenaBlock>& blocks) const;
  void plan_detours(std::vector<ArenaBlock>& blocks);
  static std::int64_t aligned(std::int64_t floats) { return (floats + 15) / 16 * 16; }  // whole cache lines
  std::int64_t arena_size(int index) const;  // of a value, in floats

  bool is_target(int value) const;
  int step_count() const { return static_cast<int>(steps_.size()); }
  int backward_time(int step) const { return 2 * step_count() - step; }
  bool keeps_patterns() const { return differentiates_ || options_.record_patterns || options_.training; }
  bool runs_backward(const Step& step) const { return differentiates_ && value(step.output).differentiated; }
  const Value& value(int index) const { return values_[static_cast<std::size_t>(index)]; }
  Value& value(int index) { return values_[static_cast<std::size_t>(index)]; }

  float* at(Workspace& workspace, int index) const { return workspace.arena.data() + value(index).offset; }
  float* gradient_at(Workspace& workspace, int index) const {
    return workspace.arena.data() + value(index).gradient_offset;
  }
  ForwardArgs forward_args(const Step& step, Workspace& workspace, PatternUse use, std::uint64_t draw) const;
  BackwardArgs backward_args(const Step& step, Workspace& workspace, float* packed_gradient) const;
  void backward_step(const Step& step, Workspace& workspace, float* packed_gradient) const;

  ProgramOptions options_;
  bool differentiates_ = false;
  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<int> node_value_;        // node -> its value, -1 if it is not computed
  std::vector<int> input_values_;      // of the graph's inputs, in order
  std::vector<std::size_t> barriers_;  // steps that need sums over the batch
  int target_value_ = -1;
  std::vector<int> extra_values_;
  std::size_t arena_floats_ = 0, pattern_bytes_ = 0, scratch_floats_ = 0, packed_floats_ = 0;
};

}  // namespace lwsvm
