#include "net/layers/prelu_layer.h"

#include <algorithm>

#include "base/error.h"
#include "base/simd.h"

namespace lwsvm {
namespace {

LWSVM_SIMD void forward_rows(const float* in, const float* slopes, std::int64_t rows, std::int64_t columns,
                             float* out, std::uint8_t* pattern, PatternUse use) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t i = r * columns + c;
      const bool on = use == PatternUse::replay ? pattern[i] != 0 : in[i] > 0.0f;
      if (use == PatternUse::record) pattern[i] = on;
      out[i] = on ? in[i] : slopes[c] * in[i];
    }
}

class PReluKernel final : public Kernel {
 public:
  PReluKernel(std::int64_t rows, std::int64_t columns, bool shared, bool learns)
      : rows_(rows),
        columns_(columns),
        shared_(shared),
        learns_(learns),
        slopes_(static_cast<std::size_t>(columns)) {}

  void pack(const float* parameters, const float*) override {
    for (std::int64_t c = 0; c < columns_; ++c)
      slopes_[static_cast<std::size_t>(c)] = parameters[shared_ ? 0 : c];
  }

  void forward(const ForwardArgs& args) const override {
    forward_rows(args.inputs[0], slopes_.data(), rows_, columns_, args.output, args.pattern, args.use);
  }

  void backward(const BackwardArgs& args) const override {
    if (float* sums = args.parameter_gradient) {
      std::fill_n(sums, packed_gradient_floats(), 0.0f);
      for (std::int64_t i = 0; i < rows_ * columns_; ++i)
        if (!args.pattern[i]) sums[shared_ ? 0 : i % columns_] += args.output_gradient[i] * args.inputs[0][i];
    }
    if (args.input_gradients[0])
      for (std::int64_t i = 0; i < rows_ * columns_; ++i)
        args.input_gradients[0][i] =
            args.output_gradient[i] *
            (args.pattern[i] ? 1.0f : slopes_[static_cast<std::size_t>(i % columns_)]);
  }

  std::size_t pattern_bytes() const override { return static_cast<std::size_t>(rows_ * columns_); }
  int pattern_bits() const override { return 1; }
  bool keeps_inputs() const override { return learns_; }
  std::size_t packed_gradient_floats() const override {
    return learns_ ? static_cast<std::size_t>(shared_ ? 1 : columns_) : 0;
  }
  void unpack_gradient(const float* packed, float* parameters) const override {
    std::copy_n(packed, packed_gradient_floats(), parameters);
  }

 private:
  std::int64_t rows_, columns_;
  bool shared_, learns_;
  std::vector<float> slopes_;
};

}  // namespace

Shape PReluLayer::infer(std::span<const Shape> inputs) const {
  const Shape& shape = only_input(kind(), inputs);
  if (shape.size() != 1 && shape.size() != 3)
    fail("net", "PRelu takes images or vectors, not {}", to_string(shape));
  if (slopes_ != 1 && slopes_ != shape[0])
    fail("net", "PRelu has {} slopes for {} channels", slopes_, shape[0]);
  return shape;
}

std::unique_ptr<Kernel> PReluLayer::compile(const CompileRequest& request) const {
  const std::int64_t channels = request.output.shape[0];
  const std::int64_t rows = request.samples * request.output.size() / channels;
  return std::make_unique<PReluKernel>(rows, channels, slopes_ == 1, request.parameter_gradient);
}

}  // namespace lwsvm
