// Element-wise maximum or minimum of two or more inputs (maxout); ties go to the first.
#pragma once

#include "net/layer.h"

namespace lwsvm {

class MaximumLayer final : public Layer {
 public:
  explicit MaximumLayer(bool minimum = false) : minimum_(minimum) {}
  bool minimum() const { return minimum_; }

  LayerKind kind() const override { return minimum_ ? LayerKind::min : LayerKind::max; }
  Linearity linearity() const override { return Linearity::piecewise_linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  bool minimum_;
};

}  // namespace lwsvm
