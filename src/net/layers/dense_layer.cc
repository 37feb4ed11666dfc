#include "net/layers/dense_layer.h"

#include <algorithm>

#include "base/error.h"
#include "base/simd.h"
#include "engine/gemm.h"

namespace lwsvm {
namespace {

LWSVM_SIMD void fill_rows(const float* row, std::int64_t rows, std::int64_t columns, float* out) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) out[r * columns + c] = row[c];
}

LWSVM_SIMD void sum_rows(const float* matrix, std::int64_t rows, std::int64_t columns, float* sum) {
  std::fill_n(sum, columns, 0.0f);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) sum[c] += matrix[r * columns + c];
}

class DenseKernel final : public Kernel {
 public:
  DenseKernel(int samples, std::int64_t in, std::int64_t out, bool bias, bool learns)
      : samples_(samples), in_(in), out_(out), bias_(bias), learns_(learns) {}

  void pack(const float* parameters, const float*) override { weights_ = parameters; }

  void forward(const ForwardArgs& args) const override {
    if (bias_) fill_rows(weights_ + in_ * out_, samples_, out_, args.output);
    gemm_per_sample(Transpose::yes, samples_, out_, in_, args.inputs[0], weights_, bias_ ? 1.0f : 0.0f,
                    args.output);
  }

  void backward(const BackwardArgs& args) const override {
    if (args.parameter_gradient) {
      gemm(Transpose::yes, Transpose::no, out_, in_, samples_, 1.0f, args.output_gradient, out_,
           args.inputs[0], in_, 0.0f, args.parameter_gradient, in_);
      if (bias_) sum_rows(args.output_gradient, samples_, out_, args.parameter_gradient + in_ * out_);
    }
    if (args.input_gradients[0])
      gemm_per_sample(Transpose::no, samples_, in_, out_, args.output_gradient, weights_, 0.0f,
                      args.input_gradients[0]);
  }

  bool keeps_inputs() const override { return learns_; }
  std::size_t packed_gradient_floats() const override {
    return learns_ ? static_cast<std::size_t>(in_ * out_ + (bias_ ? out_ : 0)) : 0;
  }
  void unpack_gradient(const float* packed, float* parameters) const override {
    std::copy_n(packed, packed_gradient_floats(), parameters);
  }

 private:
  std::int64_t samples_, in_, out_;
  bool bias_, learns_;
  const float* weights_ = nullptr;
};

}  // namespace

Shape DenseLayer::infer(std::span<const Shape> inputs) const {
  const Shape& shape = only_input(kind(), inputs);
  if (shape.size() != 1)
    fail("net", "Dense takes feature vectors, not {}; put a Flatten in front", to_string(shape));
  if (shape[0] != in_) fail("net", "Dense has weights for {} features but its input has {}", in_, shape[0]);
  return {out_};
}

std::vector<ParameterSpec> DenseLayer::parameters() const {
  std::vector<ParameterSpec> specs{{"weight", {out_, in_}, Role::weight}};
  if (bias_) specs.push_back({"bias", {out_}, Role::bias});
  return specs;
}

std::unique_ptr<Kernel> DenseLayer::compile(const CompileRequest& request) const {
  return std::make_unique<DenseKernel>(request.samples, in_, out_, bias_, request.parameter_gradient);
}

}  // namespace lwsvm
