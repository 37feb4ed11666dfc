#include "ssvm/frank_wolfe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ssvm/joint_batch.h"
#include "ssvm/vector_math.h"

namespace lwsvm {

BatchReport FrankWolfe::improve(std::span<const std::int32_t> blocks, const DualState& state,
                                std::span<float> psi_change, std::span<double> gaps) {
  BatchReport report;
  const Directions& directions = look(blocks, state.weights(), gaps, report);
  if (moving_gaps_.empty() || !std::isfinite(report.gap)) {  // the solver ends what has overflowed
    std::fill(psi_change.begin(), psi_change.end(), 0.0f);
    return report;
  }
  moving_steps_.resize(moving_gaps_.size());
  if (rule_ == StepRule::per_block)
    take_steps(directions, state.dual_scale(), psi_change);
  else
    take_single_step(directions, state.dual_scale(), psi_change);
  report_steps(moving_gaps_, report);
  report.offset_change -= dot(threads_, psi_change, state.weights().exact);
  commit(gaps, moving_steps_);
  return report;
}

// The same, but between the look and the steps all ranks tell each other what they saw. All choose the same
// steps; each moves its own blocks.
BatchReport FrankWolfe::improve_jointly(std::span<const std::int32_t> blocks, const DualState& state,
                                        JointBatch& batch, std::span<float> psi_change,
                                        std::span<double> gaps) {
  const FactoredDirections& own = *oracle_.short_directions();
  const std::int64_t p = own.outputs(), q = own.inputs();
  BatchReport report;
  moving_gaps_.clear();
  if (!blocks.empty()) look(blocks, state.weights(), gaps, report);
  batch.begin(report, moving_gaps_);
  if (batch.count() == 0 || !std::isfinite(report.gap)) {
    std::fill(psi_change.begin(), psi_change.end(), 0.0f);
    return report;
  }
  rows_.clear();
  for (int b = 0; b < batch.own(); ++b) {
    rows_.insert(rows_.end(), own.input_row(b), own.input_row(b) + q);
    rows_.insert(rows_.end(), own.slope_row(b), own.slope_row(b) + p);
  }
  batch.gather_rows(rows_, q + p);

  own_gram_.resize(static_cast<std::size_t>(batch.gram_rows() * batch.count()));
  products_.resize(own_gram_.size());
  batch.products(0, q, own_gram_);
  batch.products(q, p, products_);
  const float constant = own.bias() == Bias::yes ? 1.0f : 0.0f;
  for (std::size_t i = 0; i < own_gram_.size(); ++i) own_gram_[i] = products_[i] * (own_gram_[i] + constant);
  batch.gather_square(own_gram_, gram_);
  moving_steps_.resize(moving_gaps_.size());
  choose_steps(gram_, moving_gaps_, state.dual_scale(), moving_steps_, step_options_);

  rows_.resize(static_cast<std::size_t>(batch.count() * p));  // of all: the slopes, as far as they are gone
  for (std::int64_t b = 0; b < batch.count(); ++b)
    for (std::int64_t o = 0; o < p; ++o)
      rows_[b * p + o] = moving_steps_[b] * batch.column(b * batch.width() + q)[o];
  batch.combine(rows_.data(), p, p, q, own.bias(), psi_change);
  report_steps(moving_gaps_, report);
  report.offset_change -= dot(threads_, psi_change, state.weights().exact);
  if (!blocks.empty()) commit(gaps, std::span(moving_steps_).subspan(batch.first(), batch.own()));
  return report;
}

// Asks the oracle; the gaps of the blocks that have one are then in moving_gaps_.
const Directions& FrankWolfe::look(std::span<const std::int32_t> blocks, const Weights& w,
                                   std::span<double> gaps, BatchReport& report) {
  losses_.resize(blocks.size());
  const Directions& directions = oracle_.find_planes(blocks, w, losses_, gaps);
  report.visits = blocks.size();
  report.loss = std::accumulate(losses_.begin(), losses_.end(), 0.0);
  report.gap = std::accumulate(gaps.begin(), gaps.end(), 0.0);
  moving_gaps_.clear();
  std::copy_if(gaps.begin(), gaps.end(), std::back_inserter(moving_gaps_),
               [](double gap) { return gap > 0; });
  LWSVM_CHECK(directions.count() == std::ssize(moving_gaps_));
  return directions;
}

// Of the moving blocks: what their offsets change by, but for <sum_b s_b d_b, w>.
void FrankWolfe::report_steps(std::span<const double> gaps, BatchReport& report) const {
  for (std::size_t b = 0; b < gaps.size(); ++b) {
    report.offset_change += moving_steps_[b] * gaps[b];
    report.mean_step += moving_steps_[b] / static_cast<double>(gaps.size());
  }
}

// gaps: of the batch's blocks; steps: of those that have one.
void FrankWolfe::commit(std::span<const double> gaps, std::span<const float> moving_steps) {
  steps_.assign(gaps.size(), 0.0f);
  std::size_t moving = 0;
  for (std::size_t b = 0; b < gaps.size(); ++b)
    if (gaps[b] > 0) steps_[b] = moving_steps[moving++];
  oracle_.commit(steps_);
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
