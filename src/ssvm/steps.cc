#include "ssvm/steps.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/simd.h"

namespace lwsvm {
namespace {

LWSVM_SIMD double sum_of(const float* values, std::size_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]);
  return sum;
}

LWSVM_SIMD void subtract_scaled(std::size_t count, double factor, const float* __restrict row,
                                double* __restrict slope) {
  for (std::size_t i = 0; i < count; ++i) slope[i] -= factor * static_cast<double>(row[i]);
}

}  // namespace

double closed_form_step(double gap, double squared_norm, double dual_scale) {
  if (gap <= 0) return 0;
  const double curvature = dual_scale * squared_norm;
  return gap >= curvature ? 1 : gap / curvature;
}

double single_step(std::span<const float> gram, std::span<const double> gaps, double dual_scale) {
  LWSVM_CHECK(gram.size() == gaps.size() * gaps.size());
  const double gap = std::accumulate(gaps.begin(), gaps.end(), 0.0);
  const double squared_norm = sum_of(gram.data(), gram.size());
  return closed_form_step(gap, squared_norm, dual_scale);
}

void choose_steps(std::span<const float> gram, std::span<const double> gaps, double dual_scale,
                  std::span<float> steps, const StepOptions& options) {
  const std::size_t count = gaps.size();
  LWSVM_CHECK(gram.size() == count * count && steps.size() == count);
  const auto start = static_cast<float>(single_step(gram, gaps, dual_scale));
  std::fill(steps.begin(), steps.end(), start);

  std::vector<double> slope(gaps.begin(), gaps.end());  // of (*) at the current steps
  double gained = 0;
  for (std::size_t b = 0; b < count; ++b) {
    slope[b] -= dual_scale * start * sum_of(gram.data() + b * count, count);
    gained += 0.5 * start * (gaps[b] + slope[b]);
  }

  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    double gain = 0;
    for (std::size_t b = 0; b < count; ++b) {
      const float* row = gram.data() + b * count;
      const double curvature = dual_scale * row[b];
      float next;
      if (curvature > 0)
        next = static_cast<float>(std::clamp(steps[b] + slope[b] / curvature, 0.0, 1.0));
      else
        next = slope[b] > 0 ? 1.0f : 0.0f;
      const double change = static_cast<double>(next) - steps[b];
      if (change == 0) continue;
      gain += change * (slope[b] - 0.5 * change * curvature);
      subtract_scaled(count, dual_scale * change, row, slope.data());
      steps[b] = next;
    }
    gained += gain;
    if (gain <= options.enough * gained) break;
  }
}

double dual_gain(std::span<const float> gram, std::span<const double> gaps, double dual_scale,
                 std::span<const float> steps) {
  const std::size_t count = gaps.size();
  double gain = 0;
  for (std::size_t b = 0; b < count; ++b) {
    double product = 0;
    for (std::size_t other = 0; other < count; ++other)
      product += double{gram[b * count + other]} * steps[other];
    gain += steps[b] * (gaps[b] - 0.5 * dual_scale * product);
  }
  return gain;
}

}  // namespace lwsvm
