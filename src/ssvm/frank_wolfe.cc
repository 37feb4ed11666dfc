#include "ssvm/frank_wolfe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ssvm/vector_math.h"

namespace lwsvm {

BatchReport FrankWolfe::improve(std::span<const std::int32_t> blocks, const DualState& state,
                                std::span<float> psi_change, std::span<double> gaps) {
  const std::size_t count = blocks.size();
  losses_.resize(count);
  const Directions& directions = oracle_.find_planes(blocks, state.weights(), losses_, gaps);
  BatchReport report;
  report.loss = std::accumulate(losses_.begin(), losses_.end(), 0.0);
  report.gap = std::accumulate(gaps.begin(), gaps.end(), 0.0);

  moving_gaps_.clear();
  std::copy_if(gaps.begin(), gaps.end(), std::back_inserter(moving_gaps_),
               [](double gap) { return gap > 0; });
  LWSVM_CHECK(directions.count() == std::ssize(moving_gaps_));
  if (moving_gaps_.empty() || !std::isfinite(report.gap)) {  // the solver ends what has overflowed
    std::fill(psi_change.begin(), psi_change.end(), 0.0f);
    return report;
  }
  moving_steps_.resize(moving_gaps_.size());
  if (rule_ == StepRule::per_block)
    take_steps(directions, state.dual_scale(), psi_change);
  else
    take_single_step(directions, state.dual_scale(), psi_change);

  steps_.assign(count, 0.0f);
  std::size_t moving = 0;
  for (std::size_t b = 0; b < count; ++b) {
    if (!(gaps[b] > 0)) continue;
    steps_[b] = moving_steps_[moving++];
    report.offset_change += steps_[b] * gaps[b];
    report.mean_step += steps_[b] / static_cast<double>(moving_steps_.size());
  }
  report.offset_change -= dot(threads_, psi_change, state.weights().exact);
  oracle_.commit(steps_);
  return report;
}

void FrankWolfe::take_steps(const Directions& directions, double dual_scale, std::span<float> psi_change) {
  gram_.resize(moving_steps_.size() * moving_steps_.size());
  directions.gram(gram_);
  choose_steps(gram_, moving_gaps_, dual_scale, moving_steps_, step_options_);
  directions.combine(moving_steps_, psi_change);
}

// Needs the sum of the directions only, so the Gram matrix is never formed.
void FrankWolfe::take_single_step(const Directions& directions, double dual_scale,
                                  std::span<float> psi_change) {
  std::fill(moving_steps_.begin(), moving_steps_.end(), 1.0f);
  directions.combine(moving_steps_, psi_change);
  const double gap = std::accumulate(moving_gaps_.begin(), moving_gaps_.end(), 0.0);
  const auto step = static_cast<float>(closed_form_step(gap, squared_norm(threads_, psi_change), dual_scale));
  std::fill(moving_steps_.begin(), moving_steps_.end(), step);
  for (float& each : psi_change) each *= step;
}

}  // namespace lwsvm
