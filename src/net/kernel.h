// A layer made ready for one batch size: layouts chosen, primitives created, weights packed.
//
// A kernel belongs to one Program and is shared by the workers that run it; forward and backward are const
// and work on the buffers they are given. pack, settle and settle_backward are called by one thread, between
// parallel regions.
//
// Piecewise linear layers leave behind, per element, which linear piece was chosen: their *pattern*. The
// backward pass reads nothing else of them, and a recorded pattern can be replayed on other values: the layer
// is then linear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/tensor.h"

namespace lwsvm {

enum class PatternUse {
  ignore,  // compute the output only
  record,  // also write the pattern
  replay,  // take the linear piece from the pattern, whatever the values
};

struct ForwardArgs {
  std::span<const float* const> inputs;
  float* output = nullptr;
  std::uint8_t* pattern = nullptr;
  PatternUse use = PatternUse::ignore;
  float* scratch = nullptr;
  std::uint64_t draw = 0;  // names the random numbers of this chunk in this training step (dropout)
};

struct BackwardArgs {
  std::span<const float* const> inputs;     // null where the kernel does not keep them
  const float* output_gradient = nullptr;   // read only, unless it is also the input gradient (in place)
  std::span<float* const> input_gradients;  // overwritten; null where nobody wants it
  const std::uint8_t* pattern = nullptr;
  float* parameter_gradient = nullptr;  // overwritten, in packed order; null where nobody wants it
  float* scratch = nullptr;
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  virtual void forward(const ForwardArgs& args) const = 0;
  virtual void backward(const BackwardArgs& args) const = 0;

  virtual std::size_t pattern_bytes() const { return 0; }  // one byte per element ...
  virtual int pattern_bits() const { return 8; }           // ... of which this many tell: 1 for a ReLU
  virtual std::size_t scratch_floats() const { return 0; }
  virtual bool keeps_inputs() const { return false; }  // backward reads the inputs
  virtual bool in_place() const { return false; }      // output may be input 0, and so may their gradients

  // Weights: canonical values in, a gradient in the kernel's own order out.
  virtual void pack(const float* /*parameters*/, const float* /*statistics*/) {}
  virtual std::size_t packed_gradient_floats() const { return 0; }
  virtual void unpack_gradient(const float* /*packed*/, float* /*parameters*/) const {
  }  // adds nothing, overwrites

  // Layers that need sums over the whole batch (batch normalisation in training): gather per chunk, the sums
  // of all chunks are added in a fixed order, settle once, then forward. The same again on the way back.
  virtual std::size_t sums() const { return 0; }
  virtual void gather(const ForwardArgs& /*args*/, double* /*sums*/) const {}
  virtual void settle(std::span<const double> /*sums*/, std::int64_t /*samples*/) {}
  virtual void gather_backward(const BackwardArgs& /*args*/, double* /*sums*/) const {}
  virtual void settle_backward(std::span<const double> /*sums*/, std::int64_t /*samples*/) {}
  virtual void update_statistics(float* /*statistics*/) const {}           // running averages
  virtual void gradient_from_sums(float* /*parameter_gradient*/) const {}  // gradient known from the sums
};

}  // namespace lwsvm
