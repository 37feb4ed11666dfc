// Batch normalisation per channel [IS15].
//
//   y = scale (x - mean) / sqrt(variance + epsilon) + shift
//
// In training, mean and variance are those of the batch, and the running averages follow them:
//   running += momentum (batch - running), the batch's variance unbiased, as PyTorch does.
// Otherwise the running averages are used and the layer is an affine map.
#pragma once

#include "net/layer.h"

namespace lwsvm {

class BatchNormLayer final : public Layer {
 public:
  explicit BatchNormLayer(std::int64_t channels, float epsilon = 1e-5f, float momentum = 0.1f)
      : channels_(channels), epsilon_(epsilon), momentum_(momentum) {}

  std::int64_t channels() const { return channels_; }
  float epsilon() const { return epsilon_; }
  float momentum() const { return momentum_; }

  LayerKind kind() const override { return LayerKind::batch_norm; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::vector<ParameterSpec> parameters() const override;
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_last; }
  bool absorbs_clamp() const override { return true; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  std::int64_t channels_;
  float epsilon_, momentum_;
};

}  // namespace lwsvm
