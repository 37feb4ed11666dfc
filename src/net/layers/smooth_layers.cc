#include "net/layers/smooth_layers.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace lwsvm {
namespace {

// An Op is value(x) and slope(x).
template <typename Op>
class SmoothKernel final : public Kernel {
 public:
  explicit SmoothKernel(const CompileRequest& request) : count_(request.samples * request.output.size()) {}

  void forward(const ForwardArgs& args) const override {
    for (std::int64_t i = 0; i < count_; ++i) args.output[i] = Op::value(args.inputs[0][i]);
  }
  void backward(const BackwardArgs& args) const override {
    if (!args.input_gradients[0]) return;
    for (std::int64_t i = 0; i < count_; ++i)
      args.input_gradients[0][i] = args.output_gradient[i] * Op::slope(args.inputs[0][i]);
  }
  bool keeps_inputs() const override { return true; }

 private:
  std::int64_t count_;
};

struct SigmoidOp {
  static float value(float x) {  // exp of what is not positive: never infinite
    const float small = std::exp(-std::abs(x));
    return (x < 0 ? small : 1.0f) / (1.0f + small);
  }
  static float slope(float x) { return value(x) * value(-x); }
};

struct TanhOp {
  static float value(float x) { return std::tanh(x); }
  static float slope(float x) {
    const float y = std::tanh(x);
    return 1.0f - y * y;
  }
};

struct LogOp {
  static float value(float x) { return std::log(x); }
  static float slope(float x) { return 1.0f / x; }
};

class ProductKernel final : public Kernel {
 public:
  explicit ProductKernel(std::int64_t count) : count_(count) {}

  void forward(const ForwardArgs& args) const override {
    for (std::int64_t i = 0; i < count_; ++i) args.output[i] = args.inputs[0][i] * args.inputs[1][i];
  }
  void backward(const BackwardArgs& args) const override {
    for (std::size_t k = 0; k < 2; ++k) {
      if (!args.input_gradients[k]) continue;
      const float* other = args.inputs[1 - k];
      for (std::int64_t i = 0; i < count_; ++i)
        args.input_gradients[k][i] = args.output_gradient[i] * other[i];
    }
  }
  bool keeps_inputs() const override { return true; }

 private:
  std::int64_t count_;
};

// Images lie channels last: a row is one pixel's channels.
class ResponseNormKernel final : public Kernel {
 public:
  ResponseNormKernel(const ResponseNormLayer& layer, std::int64_t rows, std::int64_t channels)
      : rows_(rows),
        channels_(channels),
        before_((layer.size() - 1) / 2),
        after_(layer.size() - 1 - before_),
        factor_(static_cast<double>(layer.alpha()) / static_cast<double>(layer.size())),
        beta_(layer.beta()),
        bias_(layer.bias()) {}

  void forward(const ForwardArgs& args) const override {
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* in = args.inputs[0] + row * channels_;
      for (std::int64_t c = 0; c < channels_; ++c)
        args.output[row * channels_ + c] =
            static_cast<float>(static_cast<double>(in[c]) * std::pow(base(in, c), -beta_));
    }
  }

  //   dx_c = g_c s_c^-beta - 2 factor beta x_c sum_j g_j x_j s_j^(-beta-1) over the j whose window has c
  void backward(const BackwardArgs& args) const override {
    if (!args.input_gradients[0]) return;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* in = args.inputs[0] + row * channels_;
      const float* gradient = args.output_gradient + row * channels_;
      for (std::int64_t c = 0; c < channels_; ++c) {
        double sum = 0;
        for (std::int64_t j = std::max<std::int64_t>(0, c - after_);
             j <= std::min(channels_ - 1, c + before_); ++j)
          sum += static_cast<double>(gradient[j]) * static_cast<double>(in[j]) *
                 std::pow(base(in, j), -beta_ - 1);
        args.input_gradients[0][row * channels_ + c] =
            static_cast<float>(static_cast<double>(gradient[c]) * std::pow(base(in, c), -beta_) -
                               2 * factor_ * beta_ * static_cast<double>(in[c]) * sum);
      }
    }
  }
  bool keeps_inputs() const override { return true; }

 private:
  double base(const float* row, std::int64_t c) const {
    double sum = 0;
    for (std::int64_t j = std::max<std::int64_t>(0, c - before_); j <= std::min(channels_ - 1, c + after_);
         ++j)
      sum += static_cast<double>(row[j]) * static_cast<double>(row[j]);
    return bias_ + factor_ * sum;
  }

  std::int64_t rows_, channels_, before_, after_;
  double factor_, beta_, bias_;
};

}  // namespace

std::unique_ptr<Kernel> SigmoidLayer::compile(const CompileRequest& request) const {
  return std::make_unique<SmoothKernel<SigmoidOp>>(request);
}

std::unique_ptr<Kernel> LogLayer::compile(const CompileRequest& request) const {
  return std::make_unique<SmoothKernel<LogOp>>(request);
}

std::unique_ptr<Kernel> TanhLayer::compile(const CompileRequest& request) const {
  return std::make_unique<SmoothKernel<TanhOp>>(request);
}

Shape ProductLayer::infer(std::span<const Shape> inputs) const {
  if (inputs.size() != 2) fail("net", "Mul takes two inputs, not {}", inputs.size());
  return all_alike(kind(), inputs);
}

std::unique_ptr<Kernel> ProductLayer::compile(const CompileRequest& request) const {
  return std::make_unique<ProductKernel>(request.samples * request.output.size());
}

ResponseNormLayer::ResponseNormLayer(std::int64_t size, float alpha, float beta, float bias)
    : size_(size), alpha_(alpha), beta_(beta), bias_(bias) {
  if (size < 1) fail("net", "LRN needs a size of at least 1, not {}", size);
}

std::int64_t ResponseNormLayer::flops(std::span<const Shape>, const Shape& output) const {
  return element_count(output) * (2 * std::min(size_, output[0]) + 2);
}

std::unique_ptr<Kernel> ResponseNormLayer::compile(const CompileRequest& request) const {
  const Shape& image = request.output.shape;
  return std::make_unique<ResponseNormKernel>(*this, request.samples * image[1] * image[2], image[0]);
}

}  // namespace lwsvm
