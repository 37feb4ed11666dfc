#include "sgd/proximal_step.h"

#include <algorithm>
#include <cmath>

#include "base/simd.h"

namespace lwsvm {
namespace {

constexpr double kMeanDecay = 0.9, kSquareDecay = 0.999;
constexpr float kMinRoot = 1e-8f;
constexpr std::int64_t kStepRange = 1 << 14;

struct Products {
  double delta_r = 0, delta_delta = 0;  // <delta, M r>, <delta, M delta>
};

// v follows (r + delta)^2; the products in the new metric. `scale` is 1 / sqrt(1 - decay^t).
LWSVM_SIMD Products measure(std::int64_t count, float scale, const float* r, const float* delta, float* v) {
  constexpr auto decay = static_cast<float>(kSquareDecay);
  double delta_r = 0, delta_delta = 0;
#pragma omp simd reduction(+ : delta_r, delta_delta)
  for (std::int64_t i = 0; i < count; ++i) {
    const float whole = r[i] + delta[i];
    v[i] = decay * v[i] + (1 - decay) * whole * whole;
    const float scaled = delta[i] / (std::sqrt(v[i]) * scale + kMinRoot);
    delta_r += static_cast<double>(scaled * r[i]);
    delta_delta += static_cast<double>(scaled * delta[i]);
  }
  return {delta_r, delta_delta};
}

// The direction follows r + gamma delta, the weights follow it. `step` is eta / (1 - decay^t).
LWSVM_SIMD void move(std::int64_t count, float step, float scale, float gamma, const float* r,
                     const float* delta, const float* v, float* mean, float* w) {
  constexpr auto decay = static_cast<float>(kMeanDecay);
  for (std::int64_t i = 0; i < count; ++i) {
    mean[i] = decay * mean[i] + (1 - decay) * (r[i] + gamma * delta[i]);
    w[i] -= step * mean[i] / (std::sqrt(v[i]) * scale + kMinRoot);
  }
}

}  // namespace

double closed_form_gamma(double loss, double eta, double delta_r, double delta_delta) {
  const double gain = loss - eta * delta_r, curvature = eta * delta_delta;
  if (!(gain > 0)) return 0;
  return gain >= curvature ? 1 : gain / curvature;
}

ProximalStep::ProximalStep(const Regulariser& regulariser, std::vector<ParameterRange> moved,
                           std::size_t parameters, const Threads& threads)
    : regulariser_(&regulariser),
      moved_(std::move(moved)),
      threads_(threads),
      mean_(parameters, 0.0f),
      square_(parameters, 0.0f),
      regulariser_gradient_(parameters, 0.0f) {}

double ProximalStep::take(std::span<float> parameters, std::span<const float> delta, double loss,
                          double eta) {
  regulariser_->gradient(parameters, regulariser_gradient_);
  ++mean_steps_;
  ++square_steps_;
  const auto correction = [](double decay, std::uint64_t steps) {
    return 1 - std::pow(decay, static_cast<double>(steps));
  };
  const auto scale = static_cast<float>(1 / std::sqrt(correction(kSquareDecay, square_steps_)));
  Products products;
  for (const ParameterRange& range : moved_) {
    const std::int64_t first = range.begin, size = range.size;
    std::vector<Products> parts(static_cast<std::size_t>((size + kStepRange - 1) / kStepRange));
    threads_.for_ranges(size, kStepRange, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = first + begin;
      parts[static_cast<std::size_t>(begin / kStepRange)] = measure(
          end - begin, scale, regulariser_gradient_.data() + at, delta.data() + at, square_.data() + at);
    });
    for (const Products& part : parts) {
      products.delta_r += part.delta_r;
      products.delta_delta += part.delta_delta;
    }
  }
  const double gamma = closed_form_gamma(loss, eta, products.delta_r, products.delta_delta);
  const auto step = static_cast<float>(eta / correction(kMeanDecay, mean_steps_));
  for (const ParameterRange& range : moved_)
    threads_.for_ranges(range.size, kStepRange, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = range.begin + begin;
      move(end - begin, step, scale, static_cast<float>(gamma), regulariser_gradient_.data() + at,
           delta.data() + at, square_.data() + at, mean_.data() + at, parameters.data() + at);
    });
  return gamma;
}

void ProximalStep::forget_direction() {
  std::fill(mean_.begin(), mean_.end(), 0.0f);
  mean_steps_ = 0;
}

void ProximalStep::forget() {
  forget_direction();
  std::fill(square_.begin(), square_.end(), 0.0f);
  square_steps_ = 0;
}

void ProximalStep::save(const std::string& name, Checkpoint& checkpoint) const {
  checkpoint.put_view(name + ".mean", std::span<const float>(mean_));
  checkpoint.put_view(name + ".square", std::span<const float>(square_));
  checkpoint.put(name + ".steps", std::vector<std::uint64_t>{mean_steps_, square_steps_});
}

void ProximalStep::restore(const std::string& name, const Checkpoint& checkpoint) {
  std::ranges::copy(checkpoint.get<float>(name + ".mean", mean_.size()), mean_.begin());
  std::ranges::copy(checkpoint.get<float>(name + ".square", square_.size()), square_.begin());
  const auto steps = checkpoint.get<std::uint64_t>(name + ".steps", 2);
  mean_steps_ = steps[0];
  square_steps_ = steps[1];
}

}  // namespace lwsvm
