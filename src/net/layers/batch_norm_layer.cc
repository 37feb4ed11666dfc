#include "net/layers/batch_norm_layer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/simd.h"

namespace lwsvm {
namespace {

constexpr std::int64_t kRowsPerPartial = 64;  // sums run in float over this many rows, in double beyond

LWSVM_SIMD void affine_rows(const float* in, const float* __restrict scale, const float* __restrict shift,
                            std::int64_t rows, std::int64_t channels, float* out) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < channels; ++c)
      out[r * channels + c] = in[r * channels + c] * scale[c] + shift[c];
}

LWSVM_SIMD void clamped_affine_rows(const float* in, const float* __restrict scale,
                                    const float* __restrict shift, Clamp clamp, std::int64_t rows,
                                    std::int64_t channels, float* out) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < channels; ++c)
      out[r * channels + c] = clamp(in[r * channels + c] * scale[c] + shift[c]);
}

// sums[c] += sum of a, sums[channels + c] += sum of a (b - centre): with a = b = x around a centre that is
// near the mean this loses no digits to cancellation.
LWSVM_SIMD void sum_pair(const float* __restrict a, const float* __restrict b, const float* __restrict centre,
                         std::int64_t rows, std::int64_t channels, float* __restrict first,
                         float* __restrict second) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < channels; ++c) {
      first[c] += a[r * channels + c];
      second[c] += a[r * channels + c] * (b[r * channels + c] - centre[c]);
    }
}

LWSVM_SIMD void sum_moments(const float* __restrict x, const float* __restrict centre, std::int64_t rows,
                            std::int64_t channels, float* __restrict first, float* __restrict second) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float d = x[r * channels + c] - centre[c];
      first[c] += d;
      second[c] += d * d;
    }
}

LWSVM_SIMD void backward_rows(const float* gradient, const float* __restrict x, const float* __restrict a,
                              const float* __restrict b, const float* __restrict c0, std::int64_t rows,
                              std::int64_t channels, float* out) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < channels; ++c)
      out[r * channels + c] = gradient[r * channels + c] * a[c] + x[r * channels + c] * b[c] + c0[c];
}

// Calls sum(first row, rows, float[2 channels]) for runs of rows and adds the results to sums[2 channels] in
// double.
template <typename Sum>
void sum_by_partials(std::int64_t all_rows, std::int64_t channels, float* scratch, double* sums,
                     const Sum& sum) {
  std::fill_n(sums, 2 * channels, 0.0);
  for (std::int64_t row = 0; row < all_rows; row += kRowsPerPartial) {
    std::fill_n(scratch, 2 * channels, 0.0f);
    sum(row, std::min(kRowsPerPartial, all_rows - row), scratch, scratch + channels);
    for (std::int64_t c = 0; c < 2 * channels; ++c) sums[c] += static_cast<double>(scratch[c]);
  }
}

class FrozenBatchNormKernel final : public Kernel {
 public:
  FrozenBatchNormKernel(std::int64_t rows, std::int64_t channels, float epsilon, bool learns,
                        const std::optional<Clamp>& clamp)
      : rows_(rows),
        channels_(channels),
        epsilon_(epsilon),
        learns_(learns),
        clamp_(clamp),
        scale_(static_cast<std::size_t>(channels)),
        shift_(static_cast<std::size_t>(channels)),
        mean_(static_cast<std::size_t>(channels)),
        deviation_(static_cast<std::size_t>(channels)),
        zero_(static_cast<std::size_t>(channels), 0.0f) {}

  void pack(const float* parameters, const float* statistics) override {
    for (std::int64_t c = 0; c < channels_; ++c) {
      const double variance = statistics[channels_ + c];
      const double deviation = std::sqrt(variance + static_cast<double>(epsilon_));
      const double scale = parameters[c] / deviation;
      mean_[static_cast<std::size_t>(c)] = statistics[c];
      deviation_[static_cast<std::size_t>(c)] = static_cast<float>(deviation);
      scale_[static_cast<std::size_t>(c)] = static_cast<float>(scale);
      shift_[static_cast<std::size_t>(c)] =
          static_cast<float>(parameters[channels_ + c] - scale * static_cast<double>(statistics[c]));
    }
  }

  void forward(const ForwardArgs& args) const override {
    if (clamp_)
      clamped_affine_rows(args.inputs[0], scale_.data(), shift_.data(), *clamp_, rows_, channels_,
                          args.output);
    else
      affine_rows(args.inputs[0], scale_.data(), shift_.data(), rows_, channels_, args.output);
  }

  void backward(const BackwardArgs& args) const override {
    if (args.parameter_gradient) {
      std::vector<double> sums(static_cast<std::size_t>(2 * channels_));
      sum_by_partials(rows_, channels_, args.scratch, sums.data(),
                      [&](std::int64_t row, std::int64_t rows, float* first, float* second) {
                        sum_pair(args.output_gradient + row * channels_, args.inputs[0] + row * channels_,
                                 mean_.data(), rows, channels_, first, second);
                      });
      for (std::size_t c = 0; c < mean_.size(); ++c) {
        args.parameter_gradient[c] =
            static_cast<float>(sums[mean_.size() + c] / static_cast<double>(deviation_[c]));
        args.parameter_gradient[mean_.size() + c] = static_cast<float>(sums[c]);
      }
    }
    if (args.input_gradients[0])
      affine_rows(args.output_gradient, scale_.data(), zero_.data(), rows_, channels_,
                  args.input_gradients[0]);
  }

  bool in_place() const override { return true; }
  bool keeps_inputs() const override { return learns_; }
  std::size_t scratch_floats() const override {
    return static_cast<std::size_t>(learns_ ? 2 * channels_ : 0);
  }
  std::size_t packed_gradient_floats() const override {
    return static_cast<std::size_t>(learns_ ? 2 * channels_ : 0);
  }
  void unpack_gradient(const float* packed, float* parameters) const override {
    std::copy_n(packed, packed_gradient_floats(), parameters);
  }

 private:
  std::int64_t rows_, channels_;
  float epsilon_;
  bool learns_;
  std::optional<Clamp> clamp_;
  std::vector<float> scale_, shift_, mean_, deviation_, zero_;
};

class TrainingBatchNormKernel final : public Kernel {
 public:
  TrainingBatchNormKernel(std::int64_t samples, std::int64_t pixels, std::int64_t channels, float epsilon,
                          float momentum)
      : samples_(samples), pixels_(pixels), channels_(channels), epsilon_(epsilon), momentum_(momentum) {
    for (auto* v : {&centre_, &batch_mean_, &batch_variance_, &scale_, &shift_, &weight_, &grad_a_, &grad_b_,
                    &grad_c_, &scale_gradient_, &shift_gradient_})
      v->assign(static_cast<std::size_t>(channels), 0.0f);
    base_shift_ = shift_;
  }

  void pack(const float* parameters, const float* statistics) override {
    std::copy_n(parameters, channels_, weight_.begin());
    std::copy_n(parameters + channels_, channels_, base_shift_.begin());
    std::copy_n(statistics, channels_, centre_.begin());
  }

  std::size_t sums() const override { return static_cast<std::size_t>(2 * channels_); }

  void gather(const ForwardArgs& args, double* sums) const override {
    sum_by_partials(rows(), channels_, args.scratch, sums,
                    [&](std::int64_t row, std::int64_t rows, float* first, float* second) {
                      sum_moments(args.inputs[0] + row * channels_, centre_.data(), rows, channels_, first,
                                  second);
                    });
  }

  void settle(std::span<const double> sums, std::int64_t samples) override {
    count_ = static_cast<double>(samples * pixels_);
    for (std::size_t c = 0; c < weight_.size(); ++c) {
      const double offset = sums[c] / count_;
      const double variance = std::max(0.0, sums[weight_.size() + c] / count_ - offset * offset);
      const double mean = static_cast<double>(centre_[c]) + offset;
      const double scale = weight_[c] / std::sqrt(variance + static_cast<double>(epsilon_));
      batch_mean_[c] = static_cast<float>(mean);
      batch_variance_[c] = static_cast<float>(variance);
      scale_[c] = static_cast<float>(scale);
      shift_[c] = static_cast<float>(base_shift_[c] - scale * mean);
    }
  }

  void forward(const ForwardArgs& args) const override {
    affine_rows(args.inputs[0], scale_.data(), shift_.data(), rows(), channels_, args.output);
  }

  void gather_backward(const BackwardArgs& args, double* sums) const override {
    sum_by_partials(rows(), channels_, args.scratch, sums,
                    [&](std::int64_t row, std::int64_t rows, float* first, float* second) {
                      sum_pair(args.output_gradient + row * channels_, args.inputs[0] + row * channels_,
                               batch_mean_.data(), rows, channels_, first, second);
                    });
  }

  //   dx = scale (g - mean(g) - (x - mean) mean(g (x - mean)) / (variance + epsilon))
  void settle_backward(std::span<const double> sums, std::int64_t) override {
    for (std::size_t c = 0; c < weight_.size(); ++c) {
      const double power = static_cast<double>(batch_variance_[c]) + static_cast<double>(epsilon_);
      const double product = sums[weight_.size() + c];
      shift_gradient_[c] = static_cast<float>(sums[c]);
      scale_gradient_[c] = static_cast<float>(product / std::sqrt(power));
      const double slope = -static_cast<double>(scale_[c]) * product / (count_ * power);
      grad_a_[c] = scale_[c];
      grad_b_[c] = static_cast<float>(slope);
      grad_c_[c] = static_cast<float>(-static_cast<double>(scale_[c]) * sums[c] / count_ -
                                      slope * static_cast<double>(batch_mean_[c]));
    }
  }

  void backward(const BackwardArgs& args) const override {
    if (args.input_gradients[0])
      backward_rows(args.output_gradient, args.inputs[0], grad_a_.data(), grad_b_.data(), grad_c_.data(),
                    rows(), channels_, args.input_gradients[0]);
  }

  void gradient_from_sums(float* parameter_gradient) const override {
    std::copy_n(scale_gradient_.begin(), channels_, parameter_gradient);
    std::copy_n(shift_gradient_.begin(), channels_, parameter_gradient + channels_);
  }

  void update_statistics(float* statistics) const override {
    const double unbias = count_ > 1 ? count_ / (count_ - 1) : 1.0;
    for (std::size_t c = 0; c < weight_.size(); ++c) {
      float& mean = statistics[c];
      float& variance = statistics[weight_.size() + c];
      mean += momentum_ * (batch_mean_[c] - mean);
      variance +=
          momentum_ * (static_cast<float>(unbias * static_cast<double>(batch_variance_[c])) - variance);
    }
  }

  bool keeps_inputs() const override { return true; }
  std::size_t scratch_floats() const override { return static_cast<std::size_t>(2 * channels_); }

 private:
  std::int64_t rows() const { return samples_ * pixels_; }

  std::int64_t samples_, pixels_, channels_;
  float epsilon_, momentum_;
  double count_ = 1;
  std::vector<float> centre_, batch_mean_, batch_variance_, scale_, shift_, base_shift_, weight_;
  std::vector<float> grad_a_, grad_b_, grad_c_, scale_gradient_, shift_gradient_;
};

}  // namespace

Shape BatchNormLayer::infer(std::span<const Shape> inputs) const {
  const Shape& shape = only_input(kind(), inputs);
  if (shape.size() != 1 && shape.size() != 3)
    fail("net", "BatchNorm takes images or vectors, not {}", to_string(shape));
  if (shape[0] != channels_)
    fail("net", "BatchNorm is for {} channels but its input has {}", channels_, shape[0]);
  return shape;
}

std::vector<ParameterSpec> BatchNormLayer::parameters() const {
  return {{"scale", {channels_}, Role::free},
          {"shift", {channels_}, Role::free},
          {"mean", {channels_}, Role::statistic},
          {"variance", {channels_}, Role::statistic}};
}

std::unique_ptr<Kernel> BatchNormLayer::compile(const CompileRequest& request) const {
  const std::int64_t pixels = request.output.size() / channels_;
  if (request.training)
    return std::make_unique<TrainingBatchNormKernel>(request.samples, pixels, channels_, epsilon_, momentum_);
  return std::make_unique<FrozenBatchNormKernel>(request.samples * pixels, channels_, epsilon_,
                                                 request.parameter_gradient, request.clamp);
}

}  // namespace lwsvm
