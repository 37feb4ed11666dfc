// Convolution of images, with groups, stride, dilation and padding; weights [out][in/groups][kh][kw], bias
// [out].
#pragma once

#include "engine/convolution.h"
#include "net/layer.h"

namespace lwsvm {

struct WindowSpec {  // shared with pooling
  std::int64_t height = 1, width = 1;
  std::int64_t stride_height = 1, stride_width = 1;
  std::int64_t dilation_height = 1, dilation_width = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  bool ceil_mode = false;  // pooling: keep a last window that hangs over the edge

  bool operator==(const WindowSpec&) const = default;
  void validate(LayerKind kind) const;  // throws Error
  // How many windows fit; throws when none does.
  std::int64_t out_height(std::int64_t in_height) const;
  std::int64_t out_width(std::int64_t in_width) const;
};

struct ConvolutionSpec {
  std::int64_t in_channels = 0, out_channels = 0, groups = 1;
  WindowSpec window;
  bool bias = true;
};

class ConvolutionLayer final : public Layer {
 public:
  explicit ConvolutionLayer(const ConvolutionSpec& spec);

  const ConvolutionSpec& spec() const { return spec_; }
  ConvolutionGeometry geometry(const Shape& input, const Shape& output) const;

  LayerKind kind() const override { return LayerKind::conv; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::vector<ParameterSpec> parameters() const override;
  std::int64_t flops(std::span<const Shape> inputs, const Shape& output) const override;
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_last; }
  Interleaving interleaving(std::span<const Shape> inputs) const override;
  bool absorbs_clamp() const override { return true; }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  ConvolutionSpec spec_;
};

}  // namespace lwsvm
