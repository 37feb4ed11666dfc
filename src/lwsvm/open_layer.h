// The open layer itself: a dense layer or a convolution with free weights w = (weights, biases).
//
//   u = W z + b          outputs of a chunk of samples
//   psi = J^T delta      the derivative of <delta, u> with respect to w, one row per sample
//
// Images lie channels-last. Everything runs on the calling thread; one object serves all workers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lwsvm/open_convolution.h"
#include "net/graph.h"
#include "ssvm/directions.h"

namespace lwsvm {

class OpenLayer {
 public:
  // Ready for chunks of up to `samples`.
  OpenLayer(const Graph& network, int node, int samples);

  bool dense() const { return convolution_ == nullptr; }
  bool has_bias() const { return has_bias_; }
  std::int64_t input_size() const { return input_size_; }
  std::int64_t output_size() const { return output_size_; }
  std::int64_t dimension() const { return dimension_; }
  std::size_t scratch_floats() const;

  // Not while a forward is running.
  void load(std::span<const float> w);
  void forward(const float* inputs, int samples, float* outputs, float* scratch) const;

  // Convolutions: psi of the first `count` samples of a chunk, one row each, in the order of w.
  void slope_rows(const float* inputs, const float* output_slopes, std::size_t count, float* rows,
                  float* scratch) const;

 private:
  int samples_;
  bool has_bias_ = false;
  std::int64_t input_size_ = 0, output_size_ = 0, dimension_ = 0, weight_count_ = 0;
  std::vector<float> w_;
  std::unique_ptr<OpenConvolution> convolution_;
};

// Of a node of the network: its weights and biases as they are now.
std::vector<float> weights_of(const Graph& network, int node);

}  // namespace lwsvm
