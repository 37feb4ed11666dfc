#include "net/layers/softmax_layer.h"

#include <algorithm>
#include <cmath>

namespace lwsvm {
namespace {

void softmax(const float* in, std::int64_t size, float* out) {
  const float top = *std::max_element(in, in + size);
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    out[i] = std::exp(in[i] - top);
    sum += static_cast<double>(out[i]);
  }
  for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<float>(static_cast<double>(out[i]) / sum);
}

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(std::int64_t samples, std::int64_t size) : samples_(samples), size_(size) {}

  void forward(const ForwardArgs& args) const override {
    for (std::int64_t n = 0; n < samples_; ++n)
      softmax(args.inputs[0] + n * size_, size_, args.output + n * size_);
  }

  void backward(const BackwardArgs& args) const override {  // dx = y (g - <g, y>)
    if (!args.input_gradients[0]) return;
    for (std::int64_t n = 0; n < samples_; ++n) {
      const float* gradient = args.output_gradient + n * size_;
      softmax(args.inputs[0] + n * size_, size_, args.scratch);
      double product = 0;
      for (std::int64_t i = 0; i < size_; ++i)
        product += static_cast<double>(gradient[i]) * static_cast<double>(args.scratch[i]);
      for (std::int64_t i = 0; i < size_; ++i)
        args.input_gradients[0][n * size_ + i] =
            args.scratch[i] * (gradient[i] - static_cast<float>(product));
    }
  }

  bool keeps_inputs() const override { return true; }
  std::size_t scratch_floats() const override { return static_cast<std::size_t>(size_); }

 private:
  std::int64_t samples_, size_;
};

}  // namespace

std::unique_ptr<Kernel> SoftmaxLayer::compile(const CompileRequest& request) const {
  return std::make_unique<SoftmaxKernel>(request.samples, request.output.size());
}

}  // namespace lwsvm
