// 2-D convolution on interleaved images (Layout::interleaved), for few channels: the same calls as
// Convolution, whose banner has the formula.
//
// Forward and the gradient to the input are the same loop (window_sums): for each output pixel a sum of
// terms, each a weight times a pixel at a fixed distance. With stride s, the pixels of the input fall into s
// x s classes, by which taps of the window reach them; each class is one such loop over the output's
// gradient. Padding is real memory: one group of images at a time is copied into a frame of zeros, which
// costs less than 1% of the arithmetic, and no loop has to look where it is.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/convolution.h"
#include "engine/tensor.h"

namespace lwsvm {

struct LaneKernels;

class InterleavedConvolution {
 public:
  InterleavedConvolution(const ConvolutionGeometry& geometry, int samples, int lanes, ConvolutionUse use);

  void pack(const float* weights);

  std::size_t scratch_floats() const { return scratch_; }
  void forward(const float* input, const float* bias, float* output, float* scratch) const;
  void input_gradient(const float* output_gradient, float* input_gradient, float* scratch) const;

  std::size_t packed_gradient_floats() const;
  void weight_gradient(const float* input, const float* output_gradient, float* packed_weights, float* bias,
                       float* scratch) const;
  void unpack_gradient(const float* packed_weights, float* weights) const;

  // The own gradient of each of the first `count` samples, interleaved too: groups of [weights, then
  // biases][sample of the group].
  void sample_gradients(std::int64_t count, const float* input, const float* output_gradient,
                        float* gradients, float* scratch) const;

 private:
  // Images of some channels with zeros around them, or the image itself where no loop leaves it.
  struct Frame {
    std::int64_t height = 0, width = 0;  // of the image
    std::int64_t top = 0, left = 0;      // zeros before it
    std::int64_t framed_height = 0, framed_width = 0;

    void reach(std::int64_t first_row, std::int64_t last_row, std::int64_t first_column,
               std::int64_t last_column);
    bool trivial() const { return framed_height == height && framed_width == width; }
    std::int64_t pixels() const { return framed_height * framed_width; }
    std::int64_t at(std::int64_t row, std::int64_t column) const {
      return (row + top) * framed_width + column + left;
    }
  };
  // One loop of window_sums over one group of channels: every term's pixel and weight.
  struct Pass {
    std::int64_t first_row = 0, first_column = 0, rows = 0, columns = 0;  // of what it writes
    std::vector<std::int64_t> offsets;                                    // in floats
    std::vector<std::int64_t> weights;  // index of the weight for the first channel written
    std::int64_t weight_step = 0;       // to that of the next channel
    AlignedBuffer<float> packed;        // of all groups
  };

  void gradient_of_group(std::int64_t group, const float* input, const float* output_gradient, float* weights,
                         float* bias, bool add, bool apart, float* scratch) const;
  void plan_forward();
  void plan_backward();
  void pack(Pass& pass, std::int64_t channels, const float* weights) const;
  const float* framed(const Frame& frame, std::int64_t channels, const float* images, float* scratch) const;
  std::int64_t groups_of_samples() const { return (samples_ + lanes_ - 1) / lanes_; }
  std::int64_t input_floats() const { return g_.in_channels * g_.in_height * g_.in_width * lanes_; }
  std::int64_t output_floats() const { return g_.out_channels * g_.out_height * g_.out_width * lanes_; }

  ConvolutionGeometry g_;
  std::int64_t samples_, lanes_;
  ConvolutionUse use_;
  const LaneKernels& kernels_;
  Frame input_, output_;
  Pass forward_;
  std::vector<Pass> backward_;
  std::size_t scratch_ = 0;
};

}  // namespace lwsvm
