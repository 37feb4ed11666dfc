// What a classifier ends with: over the last axis of a sample,
//
//   Softmax      y_k = exp(x_k) / sum_j exp(x_j)
//   LogSoftmax   y_k = x_k - log sum_j exp(x_j)
//   ArgMax       y = the k with the largest x_k, the first of them (or the last)
//
// Neither linear nor piecewise linear; none changes which class scores highest. Graph::scores() is what they
// are applied to at the end of a network.
#pragma once

#include "net/layer.h"

namespace lwsvm {

class SoftmaxLayer final : public Layer {
 public:
  explicit SoftmaxLayer(bool logarithm = false) : logarithm_(logarithm) {}
  bool logarithm() const { return logarithm_; }

  LayerKind kind() const override { return logarithm_ ? LayerKind::log_softmax : LayerKind::softmax; }
  Linearity linearity() const override { return Linearity::neither; }
  Shape infer(std::span<const Shape> inputs) const override { return only_input(kind(), inputs); }
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_first; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  bool logarithm_;
};

class ArgMaxLayer final : public Layer {  // the last axis becomes 1
 public:
  explicit ArgMaxLayer(bool last = false) : last_(last) {}

  LayerKind kind() const override { return LayerKind::arg_max; }
  Linearity linearity() const override { return Linearity::neither; }
  Shape infer(std::span<const Shape> inputs) const override;
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_first; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  bool last_;
};

// These, and Sigmoid and Log (smooth_layers.h), which rise with every score alike.
bool is_head(const Layer& layer);

}  // namespace lwsvm
