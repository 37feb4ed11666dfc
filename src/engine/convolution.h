// 2-D convolution on channels-last images, by oneDNN, for one batch size and on the calling thread alone.
//
//   y[o][p] = b[o] + sum_{c, k} w[o][c][k] x[c][stride p + dilation k - pad]
//
// The gradient with respect to the input is, for stride 1, itself a convolution of the output gradient with
// the flipped and transposed weights, and oneDNN's forward kernels are up to 1.5 times as fast as its
// backward-data kernels (docs/performance.md): so that is what runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/clamp.h"

namespace lwsvm {

struct ConvolutionGeometry {
  std::int64_t in_channels = 0, out_channels = 0, groups = 1;
  std::int64_t in_height = 0, in_width = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 0, kernel_width = 0;
  std::int64_t stride_height = 1, stride_width = 1;
  std::int64_t dilation_height = 1, dilation_width = 1;  // 1: dense
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  std::int64_t weight_count() const {
    return out_channels * (in_channels / groups) * kernel_height * kernel_width;
  }
};

struct ConvolutionUse {
  bool bias = true;
  bool input_gradient = false;
  bool weight_gradient = false;
  std::optional<Clamp> clamp = {};  // of what forward computes
};

class Convolution {
 public:
  Convolution(const ConvolutionGeometry& geometry, int samples, ConvolutionUse use);
  Convolution(Convolution&&) noexcept;
  ~Convolution();

  // Canonical weights [out][in/groups][kh][kw] into the forms that the kernels want.
  void pack(const float* weights);

  std::size_t scratch_floats() const;
  void forward(const float* input, const float* bias, float* output, float* scratch) const;
  void input_gradient(const float* output_gradient, float* input_gradient, float* scratch) const;

  // In oneDNN's own order; sums of several are turned into the canonical one by unpack_gradient.
  std::size_t packed_gradient_floats() const;
  void weight_gradient(const float* input, const float* output_gradient, float* packed_weights, float* bias,
                       float* scratch) const;
  void unpack_gradient(const float* packed_weights, float* weights) const;

  std::string implementations() const;  // "brgconv:avx512_core, ...": for tests and benches

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lwsvm
