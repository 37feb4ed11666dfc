// y_k = exp(x_k) / sum_j exp(x_j) over a vector of scores. Neither linear nor piecewise linear: an output
// only.
#pragma once

#include "net/layer.h"

namespace lwsvm {

class SoftmaxLayer final : public Layer {
 public:
  std::string_view kind() const override { return "Softmax"; }
  Linearity linearity() const override { return Linearity::neither; }
  Shape infer(std::span<const Shape> inputs) const override { return only_input(kind(), inputs); }
  LayoutWish layout_wish() const override { return LayoutWish::channels_first; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

}  // namespace lwsvm
