// y = W x + b on feature vectors; weights [out][in], bias [out].
#pragma once

#include "net/layer.h"

namespace lwsvm {

class DenseLayer final : public Layer {
 public:
  DenseLayer(std::int64_t in_features, std::int64_t out_features, bool bias = true)
      : in_(in_features), out_(out_features), bias_(bias) {}

  std::int64_t in_features() const { return in_; }
  std::int64_t out_features() const { return out_; }
  bool has_bias() const { return bias_; }

  LayerKind kind() const override { return LayerKind::dense; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::vector<ParameterSpec> parameters() const override;
  std::int64_t flops(std::span<const Shape>, const Shape&) const override { return 2 * in_ * out_; }
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_first; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  std::int64_t in_, out_;
  bool bias_;
};

}  // namespace lwsvm
