// y = x > 0 ? x : slope[c] x with a trained slope for each channel (or one for all); slopes are not
// regularised.
#pragma once

#include "net/layer.h"

namespace lwsvm {

class PReluLayer final : public Layer {
 public:
  explicit PReluLayer(std::int64_t slopes) : slopes_(slopes) {}
  std::int64_t slopes() const { return slopes_; }

  LayerKind kind() const override { return LayerKind::prelu; }
  Linearity linearity() const override { return Linearity::piecewise_linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::vector<ParameterSpec> parameters() const override { return {{"slope", {slopes_}, Role::free}}; }
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_last; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  std::int64_t slopes_;
};

}  // namespace lwsvm
