// Sums and differences of equally shaped inputs, joining along an axis, and multiplying / adding constants.
#pragma once

#include "net/layer.h"

namespace lwsvm {

class AddLayer final : public Layer {  // x_0 + x_1 + ...
 public:
  LayerKind kind() const override { return LayerKind::add; }
  bool absorbs_clamp() const override { return true; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override { return all_alike(kind(), inputs); }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

class SubtractLayer final : public Layer {  // x_0 - x_1
 public:
  LayerKind kind() const override { return LayerKind::sub; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

class ConcatLayer final : public Layer {
 public:
  explicit ConcatLayer(std::int64_t axis) : axis_(axis) {}  // axis 0 is the channel: the batch does not count
  std::int64_t axis() const { return axis_; }

  LayerKind kind() const override { return LayerKind::concat; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  std::int64_t axis_;
};

// y = scale * x + offset with constants that belong to the network but are never trained. Each constant has
// one value (for all), one per channel, or one per element.
class AffineLayer final : public Layer {
 public:
  AffineLayer(std::vector<float> scale, std::vector<float> offset);
  const std::vector<float>& scale() const { return scale_; }
  const std::vector<float>& offset() const { return offset_; }

  LayerKind kind() const override { return LayerKind::affine; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  std::vector<float> scale_, offset_;
};

// y = (x - mean) / deviation, the normalisation in front of a network: constants as in AffineLayer. A layer
// of its own because x * (1 / deviation) rounds differently, and a file that is written and read back must
// give the same bits.
class NormalizeLayer final : public Layer {
 public:
  NormalizeLayer(std::vector<float> mean, std::vector<float> deviation);
  const std::vector<float>& mean() const { return mean_; }
  const std::vector<float>& deviation() const { return deviation_; }

  LayerKind kind() const override { return LayerKind::normalize; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  std::vector<float> mean_, deviation_;
};

}  // namespace lwsvm
