#include "ssvm/frank_wolfe.h"

#include <algorithm>
#include <numeric>

#include "ssvm/vector_math.h"

namespace lwsvm {

BatchReport FrankWolfe::improve(std::span<const std::int32_t> blocks, const DualState& state,
                                std::span<float> psi_change, std::span<double> gaps) {
  const std::size_t count = blocks.size();
  losses_.resize(count);
  steps_.resize(count);
  const Directions& directions = oracle_.find_planes(blocks, state.weights(), losses_, gaps);

  if (rule_ == StepRule::per_block) {
    gram_.resize(count * count);
    directions.gram(gram_);
    choose_steps(gram_, gaps, state.dual_scale(), steps_, step_options_);
    directions.combine(steps_, psi_change);
  } else {
    take_single_step(directions, gaps, state.dual_scale(), psi_change);
  }
  oracle_.commit(steps_);

  BatchReport report;
  for (std::size_t b = 0; b < count; ++b) {
    report.loss += losses_[b];
    report.gap += gaps[b];
    report.offset_change += steps_[b] * gaps[b];
    report.mean_step += steps_[b] / static_cast<double>(count);
  }
  report.offset_change -= dot(threads_, psi_change, state.weights().exact);
  return report;
}

// Needs the sum of the directions only, so the Gram matrix is never formed.
void FrankWolfe::take_single_step(const Directions& directions, std::span<const double> gaps,
                                  double dual_scale, std::span<float> psi_change) {
  std::fill(steps_.begin(), steps_.end(), 1.0f);
  directions.combine(steps_, psi_change);
  const double gap = std::accumulate(gaps.begin(), gaps.end(), 0.0);
  const auto step = static_cast<float>(closed_form_step(gap, squared_norm(threads_, psi_change), dual_scale));
  std::fill(steps_.begin(), steps_.end(), step);
  for (float& each : psi_change) each *= step;
}

}  // namespace lwsvm
