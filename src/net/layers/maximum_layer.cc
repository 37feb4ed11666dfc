#include "net/layers/maximum_layer.h"

#include <algorithm>

#include "base/error.h"
#include "base/simd.h"

namespace lwsvm {
namespace {

LWSVM_SIMD void take_better(const float* candidate, std::uint8_t index, bool minimum, std::int64_t count,
                            float* __restrict best, std::uint8_t* __restrict winner) {
  const float sign = minimum ? -1.0f : 1.0f;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool better = sign * candidate[i] > sign * best[i];
    best[i] = better ? candidate[i] : best[i];
    if (winner) winner[i] = better ? index : winner[i];
  }
}

LWSVM_SIMD void select(const float* source, const std::uint8_t* winner, std::uint8_t index,
                       std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = winner[i] == index ? source[i] : out[i];
}

LWSVM_SIMD void route(const float* gradient, const std::uint8_t* winner, std::uint8_t index,
                      std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = winner[i] == index ? gradient[i] : 0.0f;
}

class MaximumKernel final : public Kernel {
 public:
  MaximumKernel(std::int64_t count, bool minimum) : count_(count), minimum_(minimum) {}

  void forward(const ForwardArgs& args) const override {
    std::copy_n(args.inputs[0], count_, args.output);
    if (args.use == PatternUse::record) std::fill_n(args.pattern, count_, std::uint8_t{0});
    std::uint8_t* winner = args.use == PatternUse::record ? args.pattern : nullptr;
    for (std::size_t k = 1; k < args.inputs.size(); ++k) {
      const auto index = static_cast<std::uint8_t>(k);
      if (args.use == PatternUse::replay)
        select(args.inputs[k], args.pattern, index, count_, args.output);
      else
        take_better(args.inputs[k], index, minimum_, count_, args.output, winner);
    }
  }

  void backward(const BackwardArgs& args) const override {
    for (std::size_t k = 0; k < args.input_gradients.size(); ++k)
      if (args.input_gradients[k])
        route(args.output_gradient, args.pattern, static_cast<std::uint8_t>(k), count_,
              args.input_gradients[k]);
  }

  std::size_t pattern_bytes() const override { return static_cast<std::size_t>(count_); }

 private:
  std::int64_t count_;
  bool minimum_;
};

}  // namespace

Shape MaximumLayer::infer(std::span<const Shape> inputs) const {
  if (inputs.size() > 255) fail("net", "{} takes at most 255 inputs", to_string(kind()));
  return all_alike(kind(), inputs);
}

std::unique_ptr<Kernel> MaximumLayer::compile(const CompileRequest& request) const {
  return std::make_unique<MaximumKernel>(request.samples * request.output.size(), minimum_);
}

}  // namespace lwsvm
