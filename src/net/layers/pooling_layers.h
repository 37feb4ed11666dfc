// Max-pool, average pool, and both over the whole image.
//
// These are kernels of ours, not oneDNN's: LW-SVM replays a recorded winner per window, which oneDNN cannot
// do, and a max-pool must be the same function wherever it runs. Ties go to the first tap in row order; taps
// in the padding never win, and count in an average only if `count_padding`.
#pragma once

#include "net/layers/convolution_layer.h"

namespace lwsvm {

class MaxPoolLayer final : public Layer {
 public:
  explicit MaxPoolLayer(const WindowSpec& window);
  const WindowSpec& window() const { return window_; }

  LayerKind kind() const override { return LayerKind::max_pool; }
  Linearity linearity() const override { return Linearity::piecewise_linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::int64_t flops(std::span<const Shape> inputs, const Shape& output) const override;
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_last; }
  Interleaving interleaving(std::span<const Shape>) const override { return Interleaving::possible; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  WindowSpec window_;
};

class AveragePoolLayer final : public Layer {
 public:
  AveragePoolLayer(const WindowSpec& window, bool count_padding);
  const WindowSpec& window() const { return window_; }
  bool count_padding() const { return count_padding_; }

  LayerKind kind() const override { return LayerKind::average_pool; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::int64_t flops(std::span<const Shape> inputs, const Shape& output) const override;
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_last; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  WindowSpec window_;
  bool count_padding_;
};

class SumPoolLayer final
    : public Layer {  // the sum over the window: no network has it, decompositions of max-pool do
 public:
  explicit SumPoolLayer(const WindowSpec& window) : window_(window) {}
  const WindowSpec& window() const { return window_; }

  LayerKind kind() const override { return LayerKind::sum_pool; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_last; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  WindowSpec window_;
};

class GlobalPoolLayer final : public Layer {
 public:
  enum class Reduction { average, maximum };
  explicit GlobalPoolLayer(Reduction reduction) : reduction_(reduction) {}
  Reduction reduction() const { return reduction_; }

  LayerKind kind() const override;
  Linearity linearity() const override;
  Shape infer(std::span<const Shape> inputs) const override;
  std::int64_t flops(std::span<const Shape> inputs, const Shape&) const override {
    return element_count(inputs[0]);
  }
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_last; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  Reduction reduction_;
};

}  // namespace lwsvm
