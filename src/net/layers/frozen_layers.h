// What networks of other programs have in front of the layers that are refined, element by element or row by
// row; neither linear nor piecewise linear.
//
//   Function      one of the functions below, of every element
//   Quotient      x_0 / x_1, element by element
//   Standardize   (x - mean) / sqrt(variance + epsilon) over the last axis of a sample: layer normalisation,
//                 and instance normalisation of images whose pixels are one axis
#pragma once

#include "net/layers/smooth_layers.h"

namespace lwsvm {

enum class Function {
  elu,       // x, or a (exp(x) - 1) below 0
  selu,      // b x, or b a (exp(x) - 1) below 0
  celu,      // x, or a (exp(x / a) - 1) below 0
  softplus,  // log(1 + exp(x))
  softsign,  // x / (1 + |x|)
  erf,
  gelu,       // x (1 + erf(x / sqrt 2)) / 2
  gelu_tanh,  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  exp,
  sqrt,
  power,             // x^a
  reciprocal,        // 1 / x
  thresholded_relu,  // x above a, else 0
};

class FunctionLayer final : public SmoothLayer {
 public:
  explicit FunctionLayer(Function function, float a = 1, float b = 1) : function_(function), a_(a), b_(b) {}
  Function function() const { return function_; }
  float a() const { return a_; }
  float b() const { return b_; }
  LayerKind kind() const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  Function function_;
  float a_, b_;
};

class QuotientLayer final : public SmoothLayer {
 public:
  LayerKind kind() const override { return LayerKind::div; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

class StandardizeLayer final : public SmoothLayer {
 public:
  explicit StandardizeLayer(float epsilon) : epsilon_(epsilon) {}
  float epsilon() const { return epsilon_; }
  LayerKind kind() const override { return LayerKind::standardize; }
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_first; }
  std::int64_t flops(std::span<const Shape> inputs, const Shape& output) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  float epsilon_;
};

}  // namespace lwsvm
