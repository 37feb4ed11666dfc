// The open layer where it is a convolution: forward for a chunk, and every sample's own derivative. In one of
// two ways, as the network itself runs it: on channels-last images, or, of few channels, on interleaved
// samples, whose derivatives then come side by side.
#pragma once

#include <cstddef>
#include <memory>

#include "net/layers/convolution_layer.h"

namespace lwsvm {

// Inputs, outputs and their slopes are channels-last images; w is weights, then biases.
class OpenConvolution {
 public:
  virtual ~OpenConvolution() = default;
  virtual std::size_t scratch_floats() const = 0;
  virtual void load(const float* w) = 0;  // w must stay where it is
  virtual void forward(const float* inputs, float* outputs, float* scratch) const = 0;
  // Of the first `count` samples of a chunk, one row each.
  virtual void slope_rows(const float* inputs, const float* output_slopes, int count, float* rows,
                          float* scratch) const = 0;
};

// For chunks of `samples`.
std::unique_ptr<OpenConvolution> open_convolution(const ConvolutionLayer& layer, const Shape& input,
                                                  const Shape& output, int samples);

}  // namespace lwsvm
