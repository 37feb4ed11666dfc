#include "net/layers/softmax_layer.h"

#include <algorithm>
#include <cmath>

#include "net/layers/smooth_layers.h"

namespace lwsvm {
namespace {

double sum_of_exponentials(const float* in, std::int64_t size, float top) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(std::exp(in[i] - top));
  return sum;
}

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(std::int64_t rows, std::int64_t size, bool logarithm)
      : rows_(rows), size_(size), logarithm_(logarithm) {}

  void forward(const ForwardArgs& args) const override {
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* in = args.inputs[0] + row * size_;
      float* out = args.output + row * size_;
      const float top = *std::max_element(in, in + size_);
      const double sum = sum_of_exponentials(in, size_, top);
      for (std::int64_t i = 0; i < size_; ++i)
        out[i] = logarithm_ ? static_cast<float>(static_cast<double>(in[i] - top) - std::log(sum))
                            : static_cast<float>(static_cast<double>(std::exp(in[i] - top)) / sum);
    }
  }

  // With p the softmax:  dx = p (g - <g, p>),  of the logarithm  dx = g - p sum g.
  void backward(const BackwardArgs& args) const override {
    if (!args.input_gradients[0]) return;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* in = args.inputs[0] + row * size_;
      const float* gradient = args.output_gradient + row * size_;
      const float top = *std::max_element(in, in + size_);
      const double sum = sum_of_exponentials(in, size_, top);
      const auto share = [&](std::int64_t i) { return static_cast<double>(std::exp(in[i] - top)) / sum; };
      double total = 0;
      for (std::int64_t i = 0; i < size_; ++i)
        total += static_cast<double>(gradient[i]) * (logarithm_ ? 1.0 : share(i));
      for (std::int64_t i = 0; i < size_; ++i) {
        const auto g = static_cast<double>(gradient[i]);
        args.input_gradients[0][row * size_ + i] =
            static_cast<float>(logarithm_ ? g - share(i) * total : share(i) * (g - total));
      }
    }
  }

  bool keeps_inputs() const override { return true; }

 private:
  std::int64_t rows_, size_;
  bool logarithm_;
};

class ArgMaxKernel final : public Kernel {
 public:
  ArgMaxKernel(std::int64_t rows, std::int64_t size, bool last) : rows_(rows), size_(size), last_(last) {}

  void forward(const ForwardArgs& args) const override {
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* in = args.inputs[0] + row * size_;
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < size_; ++i)
        if (last_ ? in[i] >= in[best] : in[i] > in[best]) best = i;
      args.output[row] = static_cast<float>(best);
    }
  }
  void backward(const BackwardArgs& args) const override {  // constant but for jumps
    if (args.input_gradients[0]) std::fill_n(args.input_gradients[0], rows_ * size_, 0.0f);
  }

 private:
  std::int64_t rows_, size_;
  bool last_;
};

}  // namespace

std::unique_ptr<Kernel> SoftmaxLayer::compile(const CompileRequest& request) const {
  const std::int64_t size = request.output.shape.back();
  return std::make_unique<SoftmaxKernel>(request.samples * request.output.size() / size, size, logarithm_);
}

Shape ArgMaxLayer::infer(std::span<const Shape> inputs) const {
  Shape shape = only_input(kind(), inputs);
  shape.back() = 1;
  return shape;
}

std::unique_ptr<Kernel> ArgMaxLayer::compile(const CompileRequest& request) const {
  return std::make_unique<ArgMaxKernel>(request.samples * request.output.size(),
                                        request.inputs[0].shape.back(), last_);
}

bool is_head(const Layer& layer) {
  return dynamic_cast<const SoftmaxLayer*>(&layer) || dynamic_cast<const ArgMaxLayer*>(&layer) ||
         dynamic_cast<const SigmoidLayer*>(&layer) || dynamic_cast<const LogLayer*>(&layer);
}

}  // namespace lwsvm
