#include "net/layers/frozen_layers.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace lwsvm {
namespace {

// In double: these run once per sample, and the slopes of steep functions lose digits in float.
struct Functions {
  Function function;
  double a, b;

  static constexpr double kRootTwo = std::numbers::sqrt2, kTwoOverRootPi = 2 * std::numbers::inv_sqrtpi;
  static constexpr double kGeluCubic = 0.044715;

  static double gelu_inner(double x) { return kTwoOverRootPi / kRootTwo * (x + kGeluCubic * x * x * x); }

  double value(double x) const {
    switch (function) {
      case Function::elu:
        return x < 0 ? a * std::expm1(x) : x;
      case Function::selu:
        return b * (x < 0 ? a * std::expm1(x) : x);
      case Function::celu:
        return x < 0 ? a * std::expm1(x / a) : x;
      case Function::softplus:
        return std::log1p(std::exp(-std::abs(x))) + (x > 0 ? x : 0);
      case Function::softsign:
        return x / (1 + std::abs(x));
      case Function::erf:
        return std::erf(x);
      case Function::gelu:
        return 0.5 * x * std::erfc(-x / kRootTwo);
      case Function::gelu_tanh:
        return 0.5 * x * (1 + std::tanh(gelu_inner(x)));
      case Function::exp:
        return std::exp(x);
      case Function::sqrt:
        return std::sqrt(x);
      case Function::power:
        return std::pow(x, a);
      case Function::reciprocal:
        return 1 / x;
      case Function::thresholded_relu:
        return x > a ? x : 0;
    }
    return 0;
  }

  double slope(double x) const {
    switch (function) {
      case Function::elu:
        return x < 0 ? a * std::exp(x) : 1;
      case Function::selu:
        return b * (x < 0 ? a * std::exp(x) : 1);
      case Function::celu:
        return x < 0 ? std::exp(x / a) : 1;
      case Function::softplus: {
        const double small = std::exp(-std::abs(x));
        return (x < 0 ? small : 1) / (1 + small);
      }
      case Function::softsign:
        return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
      case Function::erf:
        return kTwoOverRootPi * std::exp(-x * x);
      case Function::gelu:
        return 0.5 * std::erfc(-x / kRootTwo) + x * kTwoOverRootPi / (2 * kRootTwo) * std::exp(-0.5 * x * x);
      case Function::gelu_tanh: {
        const double y = std::tanh(gelu_inner(x));
        const double inner_slope = kTwoOverRootPi / kRootTwo * (1 + 3 * kGeluCubic * x * x);
        return 0.5 * (1 + y) + 0.5 * x * (1 - y * y) * inner_slope;
      }
      case Function::exp:
        return std::exp(x);
      case Function::sqrt:
        return 0.5 / std::sqrt(x);
      case Function::power:
        return a * std::pow(x, a - 1);
      case Function::reciprocal:
        return -1 / (x * x);
      case Function::thresholded_relu:
        return x > a ? 1 : 0;
    }
    return 0;
  }
};

class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(std::int64_t count, const Functions& of) : count_(count), of_(of) {}

  void forward(const ForwardArgs& args) const override {
    for (std::int64_t i = 0; i < count_; ++i)
      args.output[i] = static_cast<float>(of_.value(static_cast<double>(args.inputs[0][i])));
  }
  void backward(const BackwardArgs& args) const override {
    if (!args.input_gradients[0]) return;
    for (std::int64_t i = 0; i < count_; ++i)
      args.input_gradients[0][i] = static_cast<float>(static_cast<double>(args.output_gradient[i]) *
                                                      of_.slope(static_cast<double>(args.inputs[0][i])));
  }
  bool keeps_inputs() const override { return true; }

 private:
  std::int64_t count_;
  Functions of_;
};

class QuotientKernel final : public Kernel {
 public:
  explicit QuotientKernel(std::int64_t count) : count_(count) {}

  void forward(const ForwardArgs& args) const override {
    for (std::int64_t i = 0; i < count_; ++i) args.output[i] = args.inputs[0][i] / args.inputs[1][i];
  }
  void backward(const BackwardArgs& args) const override {
    const float *x = args.inputs[0], *y = args.inputs[1], *gradient = args.output_gradient;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (args.input_gradients[0]) args.input_gradients[0][i] = gradient[i] / y[i];
      if (args.input_gradients[1]) args.input_gradients[1][i] = -gradient[i] * x[i] / (y[i] * y[i]);
    }
  }
  bool keeps_inputs() const override { return true; }

 private:
  std::int64_t count_;
};

class StandardizeKernel final : public Kernel {
 public:
  StandardizeKernel(std::int64_t rows, std::int64_t size, float epsilon)
      : rows_(rows), size_(size), epsilon_(static_cast<double>(epsilon)) {}

  void forward(const ForwardArgs& args) const override {
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* in = args.inputs[0] + row * size_;
      const Moments moments = moments_of(in);
      for (std::int64_t i = 0; i < size_; ++i)
        args.output[row * size_ + i] =
            static_cast<float>((static_cast<double>(in[i]) - moments.mean) * moments.scale);
    }
  }

  //   dx_i = scale (g_i - mean(g) - y_i mean(g y))
  void backward(const BackwardArgs& args) const override {
    if (!args.input_gradients[0]) return;
    const auto size = static_cast<double>(size_);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* in = args.inputs[0] + row * size_;
      const float* gradient = args.output_gradient + row * size_;
      const Moments moments = moments_of(in);
      const auto y = [&](std::int64_t i) {
        return (static_cast<double>(in[i]) - moments.mean) * moments.scale;
      };
      double sum = 0, product = 0;
      for (std::int64_t i = 0; i < size_; ++i) {
        sum += static_cast<double>(gradient[i]);
        product += static_cast<double>(gradient[i]) * y(i);
      }
      for (std::int64_t i = 0; i < size_; ++i)
        args.input_gradients[0][row * size_ + i] = static_cast<float>(
            moments.scale * (static_cast<double>(gradient[i]) - sum / size - y(i) * product / size));
    }
  }
  bool keeps_inputs() const override { return true; }

 private:
  struct Moments {
    double mean, scale;
  };
  Moments moments_of(const float* in) const {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < size_; ++i) sum += static_cast<double>(in[i]);
    const double mean = sum / static_cast<double>(size_);
    for (std::int64_t i = 0; i < size_; ++i) {
      const double difference = static_cast<double>(in[i]) - mean;
      squares += difference * difference;
    }
    return {mean, 1 / std::sqrt(squares / static_cast<double>(size_) + epsilon_)};
  }

  std::int64_t rows_, size_;
  double epsilon_;
};

}  // namespace

LayerKind FunctionLayer::kind() const {
  switch (function_) {
    case Function::elu:
      return LayerKind::elu;
    case Function::selu:
      return LayerKind::selu;
    case Function::celu:
      return LayerKind::celu;
    case Function::softplus:
      return LayerKind::softplus;
    case Function::softsign:
      return LayerKind::softsign;
    case Function::erf:
      return LayerKind::erf;
    case Function::gelu:
    case Function::gelu_tanh:
      return LayerKind::gelu;
    case Function::exp:
      return LayerKind::exp;
    case Function::sqrt:
      return LayerKind::sqrt;
    case Function::power:
      return LayerKind::pow;
    case Function::reciprocal:
      return LayerKind::reciprocal;
    case Function::thresholded_relu:
      return LayerKind::thresholded_relu;
  }
  LWSVM_CHECK(false);
}

std::unique_ptr<Kernel> FunctionLayer::compile(const CompileRequest& request) const {
  return std::make_unique<FunctionKernel>(
      request.samples * request.output.size(),
      Functions{function_, static_cast<double>(a_), static_cast<double>(b_)});
}

Shape QuotientLayer::infer(std::span<const Shape> inputs) const {
  if (inputs.size() != 2) fail("net", "Div takes two inputs, not {}", inputs.size());
  return all_alike(kind(), inputs);
}

std::unique_ptr<Kernel> QuotientLayer::compile(const CompileRequest& request) const {
  return std::make_unique<QuotientKernel>(request.samples * request.output.size());
}

std::int64_t StandardizeLayer::flops(std::span<const Shape>, const Shape& output) const {
  return 6 * element_count(output);
}

std::unique_ptr<Kernel> StandardizeLayer::compile(const CompileRequest& request) const {
  const std::int64_t size = request.output.shape.back();
  return std::make_unique<StandardizeKernel>(request.samples * request.output.size() / size, size, epsilon_);
}

}  // namespace lwsvm
