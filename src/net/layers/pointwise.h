// Element-wise piecewise linear functions of one input, as one kernel template.
//
// An Op chooses for every x a piece, and on each piece is slope * x + offset:
//   std::uint8_t piece(float x), float value(piece, x), float slope(piece), and kBits: how many number its
//   pieces
// so recording, replaying and differentiating it need nothing else.
#pragma once

#include "base/simd.h"
#include "net/kernel.h"
#include "net/layer.h"

namespace lwsvm {

template <typename Op>
LWSVM_SIMD void pointwise_forward(Op op, std::int64_t count, const float* in, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = op.value(op.piece(in[i]), in[i]);
}

template <typename Op>
LWSVM_SIMD void pointwise_record(Op op, std::int64_t count, const float* in, float* out,
                                 std::uint8_t* __restrict pattern) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint8_t piece = op.piece(in[i]);
    pattern[i] = piece;
    out[i] = op.value(piece, in[i]);
  }
}

template <typename Op>
LWSVM_SIMD void pointwise_replay(Op op, std::int64_t count, const float* in, float* out,
                                 const std::uint8_t* __restrict pattern) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = op.value(pattern[i], in[i]);
}

template <typename Op>
LWSVM_SIMD void pointwise_backward(Op op, std::int64_t count, const float* gradient, float* in_gradient,
                                   const std::uint8_t* __restrict pattern) {
  for (std::int64_t i = 0; i < count; ++i) in_gradient[i] = gradient[i] * op.slope(pattern[i]);
}

template <typename Op>
class PointwiseKernel final : public Kernel {
 public:
  PointwiseKernel(const CompileRequest& request, Op op)
      : count_(request.output.floats(request.samples)), op_(op) {}

  void forward(const ForwardArgs& args) const override {
    switch (args.use) {
      case PatternUse::ignore:
        pointwise_forward(op_, count_, args.inputs[0], args.output);
        break;
      case PatternUse::record:
        pointwise_record(op_, count_, args.inputs[0], args.output, args.pattern);
        break;
      case PatternUse::replay:
        pointwise_replay(op_, count_, args.inputs[0], args.output, args.pattern);
        break;
    }
  }

  void backward(const BackwardArgs& args) const override {
    if (args.input_gradients[0])
      pointwise_backward(op_, count_, args.output_gradient, args.input_gradients[0], args.pattern);
  }

  std::size_t pattern_bytes() const override { return static_cast<std::size_t>(count_); }
  int pattern_bits() const override { return Op::kBits; }
  bool in_place() const override { return true; }

 private:
  std::int64_t count_;
  Op op_;
};

}  // namespace lwsvm
