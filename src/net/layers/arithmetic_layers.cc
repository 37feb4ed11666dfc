#include "net/layers/arithmetic_layers.h"

#include <algorithm>

#include "base/error.h"
#include "base/simd.h"

namespace lwsvm {
namespace {

LWSVM_SIMD void add_signed(const float* a, const float* b, float sign, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] + sign * b[i];
}

LWSVM_SIMD void add_clamped(const float* a, const float* b, Clamp clamp, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = clamp(a[i] + b[i]);
}

LWSVM_SIMD void scale_by(const float* in, float factor, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = factor * in[i];
}

LWSVM_SIMD void affine(const float* in, const float* __restrict scale, const float* __restrict offset,
                       std::int64_t samples, std::int64_t size, float* out) {
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t i = 0; i < size; ++i) out[n * size + i] = in[n * size + i] * scale[i] + offset[i];
}

LWSVM_SIMD void multiply(const float* in, const float* __restrict scale, std::int64_t samples,
                         std::int64_t size, float* out) {
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t i = 0; i < size; ++i) out[n * size + i] = in[n * size + i] * scale[i];
}

LWSVM_SIMD void normalize(const float* in, const float* __restrict mean, const float* __restrict deviation,
                          std::int64_t samples, std::int64_t size, float* out) {
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t i = 0; i < size; ++i) out[n * size + i] = (in[n * size + i] - mean[i]) / deviation[i];
}

LWSVM_SIMD void divide(const float* in, const float* __restrict divisor, std::int64_t samples,
                       std::int64_t size, float* out) {
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t i = 0; i < size; ++i) out[n * size + i] = in[n * size + i] / divisor[i];
}

// x_0 + sign (x_1 + x_2 + ...), clamped if asked for (sums only).
class SumKernel final : public Kernel {
 public:
  SumKernel(std::int64_t count, float sign, const std::optional<Clamp>& clamp = {})
      : count_(count), sign_(sign), clamp_(clamp) {}

  void forward(const ForwardArgs& args) const override {
    const float* sum = args.inputs[0];
    const std::size_t last = args.inputs.size() - 1;
    if (last == 0 && clamp_) std::transform(sum, sum + count_, args.output, *clamp_);
    if (last == 0 && !clamp_ && args.output != sum) std::copy_n(sum, count_, args.output);
    for (std::size_t k = 1; k <= last; ++k) {
      if (k == last && clamp_)
        add_clamped(sum, args.inputs[k], *clamp_, count_, args.output);
      else
        add_signed(sum, args.inputs[k], sign_, count_, args.output);
      sum = args.output;
    }
  }

  void backward(const BackwardArgs& args) const override {
    for (std::size_t k = 0; k < args.input_gradients.size(); ++k)
      if (args.input_gradients[k] && args.input_gradients[k] != args.output_gradient)
        scale_by(args.output_gradient, k == 0 ? 1.0f : sign_, count_, args.input_gradients[k]);
  }

  bool in_place() const override { return true; }

 private:
  std::int64_t count_;
  float sign_;
  std::optional<Clamp> clamp_;
};

// Joins blocks: sample by sample, `outer` times one run of each input.
class ConcatKernel final : public Kernel {
 public:
  ConcatKernel(std::int64_t outer, std::vector<std::int64_t> runs) : outer_(outer), runs_(std::move(runs)) {
    for (std::int64_t run : runs_) width_ += run;
  }

  void forward(const ForwardArgs& args) const override {
    std::int64_t at = 0;
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      for (std::int64_t o = 0; o < outer_; ++o)
        std::copy_n(args.inputs[k] + o * runs_[k], runs_[k], args.output + o * width_ + at);
      at += runs_[k];
    }
  }

  void backward(const BackwardArgs& args) const override {
    std::int64_t at = 0;
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      if (args.input_gradients[k])
        for (std::int64_t o = 0; o < outer_; ++o)
          std::copy_n(args.output_gradient + o * width_ + at, runs_[k],
                      args.input_gradients[k] + o * runs_[k]);
      at += runs_[k];
    }
  }

 private:
  std::int64_t outer_, width_ = 0;
  std::vector<std::int64_t> runs_;
};

class AffineKernel final : public Kernel {
 public:
  AffineKernel(std::int64_t samples, std::vector<float> scale, std::vector<float> offset)
      : samples_(samples),
        size_(static_cast<std::int64_t>(scale.size())),
        scale_(std::move(scale)),
        offset_(std::move(offset)) {}

  void forward(const ForwardArgs& args) const override {
    affine(args.inputs[0], scale_.data(), offset_.data(), samples_, size_, args.output);
  }
  void backward(const BackwardArgs& args) const override {
    if (args.input_gradients[0])
      multiply(args.output_gradient, scale_.data(), samples_, size_, args.input_gradients[0]);
  }
  bool in_place() const override { return true; }

 private:
  std::int64_t samples_, size_;
  std::vector<float> scale_, offset_;
};

class NormalizeKernel final : public Kernel {
 public:
  NormalizeKernel(std::int64_t samples, std::vector<float> mean, std::vector<float> deviation)
      : samples_(samples),
        size_(static_cast<std::int64_t>(mean.size())),
        mean_(std::move(mean)),
        deviation_(std::move(deviation)) {}

  void forward(const ForwardArgs& args) const override {
    normalize(args.inputs[0], mean_.data(), deviation_.data(), samples_, size_, args.output);
  }
  void backward(const BackwardArgs& args) const override {
    if (args.input_gradients[0])
      divide(args.output_gradient, deviation_.data(), samples_, size_, args.input_gradients[0]);
  }
  bool in_place() const override { return true; }

 private:
  std::int64_t samples_, size_;
  std::vector<float> mean_, deviation_;
};

// One value for every element of a sample, in the order of `spec`.
std::vector<float> spread(const std::vector<float>& constant, const TensorSpec& spec) {
  const std::int64_t size = spec.size();
  const auto given = static_cast<std::int64_t>(constant.size());
  std::vector<float> canonical(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i)
    canonical[static_cast<std::size_t>(i)] = constant[static_cast<std::size_t>(i / (size / given))];
  std::vector<float> result(canonical.size());
  relayout({spec.shape, Layout::channels_first}, canonical.data(), spec, result.data(), 1);
  return result;
}

// Constants have one value, one per channel, or one per element.
void check_constant(const std::vector<float>& constant, const Shape& shape) {
  const auto given = static_cast<std::int64_t>(constant.size());
  if (given != 1 && given != shape[0] && given != element_count(shape))
    fail("net", "constants of {} values fit neither the {} channels nor the {} elements of {}", given,
         shape[0], element_count(shape), to_string(shape));
}

// {outer, axis, inner} sizes of a sample in the order in which it lies in memory.
struct AxisView {
  std::int64_t outer = 1, size = 1, inner = 1;
};

AxisView view_axis(const TensorSpec& spec, std::int64_t axis) {
  std::vector<std::int64_t> order(spec.shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  if (spec.layout == Layout::channels_last && spec.shape.size() == 3) order = {1, 2, 0};
  AxisView view;
  bool passed = false;
  for (std::int64_t original : order) {
    const std::int64_t size = spec.shape[static_cast<std::size_t>(original)];
    if (original == axis) {
      view.size = size;
      passed = true;
    } else {
      (passed ? view.inner : view.outer) *= size;
    }
  }
  return view;
}

}  // namespace

std::unique_ptr<Kernel> AddLayer::compile(const CompileRequest& request) const {
  return std::make_unique<SumKernel>(request.samples * request.output.size(), 1.0f, request.clamp);
}

Shape SubtractLayer::infer(std::span<const Shape> inputs) const {
  if (inputs.size() != 2) fail("net", "Sub takes two inputs, not {}", inputs.size());
  return all_alike(kind(), inputs);
}

std::unique_ptr<Kernel> SubtractLayer::compile(const CompileRequest& request) const {
  return std::make_unique<SumKernel>(request.samples * request.output.size(), -1.0f);
}

Shape ConcatLayer::infer(std::span<const Shape> inputs) const {
  if (inputs.empty()) fail("net", "Concat takes at least one input");
  Shape joined = inputs[0];
  if (axis_ < 0 || axis_ >= static_cast<std::int64_t>(joined.size()))
    fail("net", "Concat along axis {} of {}", axis_, to_string(joined));
  const auto axis = static_cast<std::size_t>(axis_);
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    Shape expected = inputs[k];
    if (expected.size() == joined.size()) expected[axis] = joined[axis];
    if (expected != joined)
      fail("net", "Concat cannot join {} and {}", to_string(inputs[0]), to_string(inputs[k]));
    joined[axis] += inputs[k][axis];
  }
  return joined;
}

std::unique_ptr<Kernel> ConcatLayer::compile(const CompileRequest& request) const {
  std::vector<std::int64_t> runs;
  std::int64_t outer = 1;
  for (const TensorSpec& input : request.inputs) {
    const AxisView view = view_axis(input, axis_);
    runs.push_back(view.size * view.inner);
    outer = view.outer;
  }
  return std::make_unique<ConcatKernel>(request.samples * outer, std::move(runs));
}

AffineLayer::AffineLayer(std::vector<float> scale, std::vector<float> offset)
    : scale_(std::move(scale)), offset_(std::move(offset)) {
  if (scale_.empty()) scale_ = {1.0f};
  if (offset_.empty()) offset_ = {0.0f};
}

Shape AffineLayer::infer(std::span<const Shape> inputs) const {
  const Shape& shape = only_input(kind(), inputs);
  check_constant(scale_, shape);
  check_constant(offset_, shape);
  return shape;
}

std::unique_ptr<Kernel> AffineLayer::compile(const CompileRequest& request) const {
  return std::make_unique<AffineKernel>(request.samples, spread(scale_, request.output),
                                        spread(offset_, request.output));
}

NormalizeLayer::NormalizeLayer(std::vector<float> mean, std::vector<float> deviation)
    : mean_(std::move(mean)), deviation_(std::move(deviation)) {
  if (mean_.empty()) mean_ = {0.0f};
  if (deviation_.empty()) deviation_ = {1.0f};
  for (float value : deviation_)
    if (value == 0.0f) fail("net", "cannot normalise by a deviation of 0");
}

Shape NormalizeLayer::infer(std::span<const Shape> inputs) const {
  const Shape& shape = only_input(kind(), inputs);
  check_constant(mean_, shape);
  check_constant(deviation_, shape);
  return shape;
}

std::unique_ptr<Kernel> NormalizeLayer::compile(const CompileRequest& request) const {
  return std::make_unique<NormalizeKernel>(request.samples, spread(mean_, request.output),
                                           spread(deviation_, request.output));
}

}  // namespace lwsvm
