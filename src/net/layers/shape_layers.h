// Layers that only move numbers: flatten, reshape, transpose, pad, slice, resize; and dropout, which outside
// training is one.
//
// Axes do not count the batch: of an image, axis 0 is the channel.
#pragma once

#include "net/layer.h"

namespace lwsvm {

class MovingLayer : public Layer {
 public:
  Linearity linearity() const override { return Linearity::linear; }
  std::int64_t flops(std::span<const Shape>, const Shape&) const override { return 0; }
  LayoutPreference preferred_layout() const override { return LayoutPreference::channels_first; }
};

class ReshapeLayer final : public MovingLayer {
 public:
  explicit ReshapeLayer(Shape target) : target_(std::move(target)) {}  // one entry may be -1
  const Shape& target() const { return target_; }
  LayerKind kind() const override { return LayerKind::reshape; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  Shape target_;
};

class FlattenLayer final : public MovingLayer {
 public:
  LayerKind kind() const override { return LayerKind::flatten; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;
};

class TransposeLayer final : public MovingLayer {
 public:
  explicit TransposeLayer(std::vector<std::int64_t> order) : order_(std::move(order)) {}
  const std::vector<std::int64_t>& order() const { return order_; }
  LayerKind kind() const override { return LayerKind::transpose; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  std::vector<std::int64_t> order_;
};

class PadLayer final : public MovingLayer {
 public:
  PadLayer(Shape before, Shape after, float value)
      : before_(std::move(before)), after_(std::move(after)), value_(value) {}
  const Shape& before() const { return before_; }
  const Shape& after() const { return after_; }
  float value() const { return value_; }
  LayerKind kind() const override { return LayerKind::pad; }
  LayoutPreference preferred_layout() const override { return LayoutPreference::any; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  Shape before_, after_;
  float value_;
};

class SliceLayer final
    : public MovingLayer {  // elements start, start + step, ... of every axis, `count` of them
 public:
  SliceLayer(Shape start, Shape step, Shape count)
      : start_(std::move(start)), step_(std::move(step)), count_(std::move(count)) {}
  const Shape& start() const { return start_; }
  const Shape& step() const { return step_; }
  const Shape& count() const { return count_; }
  LayerKind kind() const override { return LayerKind::slice; }
  LayoutPreference preferred_layout() const override { return LayoutPreference::any; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  Shape start_, step_, count_;
};

// Every axis is read at other places than its own: position p of an axis is the sum of weight * element over
// its taps. Repeats what is broadcast, enlarges and shrinks images. Weights are not negative.
class ResizeLayer final : public MovingLayer {
 public:
  struct Tap {
    std::int64_t element;
    float weight;
  };
  using Axis = std::vector<std::vector<Tap>>;  // the taps of each position

  explicit ResizeLayer(std::vector<Axis> axes);
  const std::vector<Axis>& axes() const { return axes_; }
  LayerKind kind() const override { return LayerKind::resize; }
  LayoutPreference preferred_layout() const override { return LayoutPreference::any; }
  Shape infer(std::span<const Shape> inputs) const override;
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

  // Axes of 1 repeated, others as they are.
  static ResizeLayer repeating(const Shape& from, const Shape& to);

 private:
  std::vector<Axis> axes_;
};

class DropoutLayer final : public Layer {  // in training: 0 with probability `rate`, else x / (1 - rate)
 public:
  explicit DropoutLayer(float rate);
  float rate() const { return rate_; }
  LayerKind kind() const override { return LayerKind::dropout; }
  Linearity linearity() const override { return Linearity::linear; }
  Shape infer(std::span<const Shape> inputs) const override { return only_input(kind(), inputs); }
  std::unique_ptr<Kernel> compile(const CompileRequest& request) const override;

 private:
  float rate_;
};

}  // namespace lwsvm
