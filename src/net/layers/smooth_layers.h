// Sigmoid, tanh, logarithm, products of two values, local response normalisation: neither linear nor
// piecewise linear. A network may have them in front of the layers that are refined, never after; but for a
// Sigmoid or a Log at its very end (is_head).
#pragma once

#include "net/layer.h"

namespace lwsvm {

class SmoothLayer : public Layer {
 public:
  Linearity linearity() const override { return Linearity::neither; }
  Shape infer(std::span<const Shape> inputs) const override { return only_input(kind(), inputs); }
};

class SigmoidLayer final : public SmoothLayer {  // 1 / (1 + exp(-x))
 public:
  LayerKind kind() const override { return LayerKind::sigmoid; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

class TanhLayer final : public SmoothLayer {
 public:
  LayerKind kind() const override { return LayerKind::tanh; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

class LogLayer final : public SmoothLayer {  // the natural one
 public:
  LayerKind kind() const override { return LayerKind::log; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

class ProductLayer final : public SmoothLayer {  // x_0 * x_1, element by element
 public:
  LayerKind kind() const override { return LayerKind::mul; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

// y_c = x_c / (bias + alpha / size * sum_j x_j^2)^beta over `size` channels j around c, those that exist
// [KSH12].
class ResponseNormLayer final : public SmoothLayer {
 public:
  ResponseNormLayer(std::int64_t size, float alpha, float beta, float bias);

  LayerKind kind() const override { return LayerKind::lrn; }
  Shape infer(std::span<const Shape> inputs) const override { return only_image(kind(), inputs); }
  std::int64_t flops(std::span<const Shape> inputs, const Shape& output) const override;
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_last; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

  std::int64_t size() const { return size_; }
  float alpha() const { return alpha_; }
  float beta() const { return beta_; }
  float bias() const { return bias_; }

 private:
  std::int64_t size_;
  float alpha_, beta_, bias_;
};

}  // namespace lwsvm
