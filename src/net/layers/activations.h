// ReLU, leaky ReLU, clip and absolute value. At exactly 0 a ReLU is off; ties go to the lower piece.
#pragma once

#include "net/layer.h"

namespace lwsvm {

class PointwiseLayer : public Layer {
 public:
  Linearity linearity() const override { return Linearity::piecewise_linear; }
  Shape infer(std::span<const Shape> inputs) const override { return only_input(kind(), inputs); }
  Interleaving interleaving(std::span<const Shape>) const override { return Interleaving::possible; }
};

class ReluLayer final : public PointwiseLayer {
 public:
  LayerKind kind() const override { return LayerKind::relu; }
  std::optional<Clamp> as_clamp() const override { return Clamp{.low = 0.0f}; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

class LeakyReluLayer final : public PointwiseLayer {  // x > 0 ? x : slope x
 public:
  explicit LeakyReluLayer(float slope) : slope_(slope) {}
  float slope() const { return slope_; }
  LayerKind kind() const override { return LayerKind::leaky_relu; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  float slope_;
};

class ClipLayer final : public PointwiseLayer {  // min(max(x, low), high)
 public:
  ClipLayer(float low, float high);
  float low() const { return low_; }
  float high() const { return high_; }
  LayerKind kind() const override { return LayerKind::clip; }
  std::optional<Clamp> as_clamp() const override { return Clamp{low_, high_}; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  float low_, high_;
};

class AbsLayer final : public PointwiseLayer {
 public:
  LayerKind kind() const override { return LayerKind::abs; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

}  // namespace lwsvm
