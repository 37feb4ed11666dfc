// One opened layer as a structured SVM: the models that the oracles of src/ssvm ask.
//
//   H_i(w) = max_y [ Delta(y, y_i) + S_y(w) ] + D_{y_i}(w) - (K_{y_i} linearised at w_t)(w)
//
// with S, D, K from src/dc. Three forms, by what is searched and what the layer is:
//   labels     nothing after it is free: scores are linear in w, blocks remember a point of the simplex
//   factored   a dense layer, any search space: blocks remember delta in R^p              [BZK17, Prop. 5]
//   explicit   a convolution, search space beyond the labels: blocks remember psi itself
// and for a last layer that is a linear SVM (last_layer.h), the exact solver SvmLayer.
//
// Work is done chunk by chunk (tail_runner.h); the forms are in layer_models.h, what they take in
// layer_memory.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/margin_matrix.h"
#include "base/sample_source.h"
#include "lwsvm/layer_memory.h"
#include "lwsvm/layer_problem_options.h"
#include "ssvm/block_ascent.h"
#include "ssvm/oracle.h"

namespace lwsvm {

class LayerProblem {
 public:
  // Linearises at the network's current weights. The network must not change while the problem lives.
  LayerProblem(const Graph& network, int open_node, const SampleSource& source, const MarginMatrix& margins,
               const LayerProblemOptions& options, const Threads& threads);
  ~LayerProblem();

  BlockAscent& blocks();
  Oracle* oracle();  // null in the exact form
  const std::vector<float>& anchor() const { return anchor_; }
  bool is_svm_layer() const { return is_svm_layer_; }  // exact: nothing but linear maps after the layer
  bool is_exact() const;                               // its blocks are solved exactly
  std::string form() const { return form_; }
  std::uint64_t cache_bytes() const;

 private:
  struct Parts;
  void build_empty(const Graph& network, const LayerProblemOptions& options, const Threads& threads);
  void build_exact(const Graph& network, const SampleSource& source, const LayerProblemOptions& options,
                   const Threads& threads);
  void build_searched(const Graph& network, const SampleSource& source, const LayerProblemOptions& options,
                      const Threads& threads);

  std::vector<float> anchor_;
  bool is_svm_layer_ = false;
  std::string form_;
  std::unique_ptr<Parts> parts_;
};

// The search space that a layer starts with: Y (nothing free) for convolutions, everything for dense layers,
// which [BZK17, Obs. 1] and the authors' code choose too.
int automatic_free_layers(const Graph& network, int open_node, std::int64_t samples, std::uint64_t memory);
// How many piecewise linear layers lie after a layer: the largest search space.
int free_layer_count(const Graph& network, int open_node);

}  // namespace lwsvm
