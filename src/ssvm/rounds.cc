#include "ssvm/rounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ssvm/steps.h"
#include "ssvm/vector_math.h"

namespace lwsvm {
namespace {

// A rank's steps are few: they can be chosen as well as float tells.
constexpr StepOptions kClosely{.sweeps = 100, .enough = 1e-6};

}  // namespace

void RoundOptions::validate() const {
  if (batches < 1) fail("ssvm", "a round has {} batches: at least one is needed", batches);
  if (!(caution >= 1)) fail("ssvm", "the ranks' caution is {}: it must be at least 1", caution);
}

Rounds::Rounds(Team& team, const BlockAscent& blocks, const RoundOptions& options, int batch,
               const Threads& threads)
    : team_(team), options_(options), batch_(batch), threads_(threads), exchange_(team) {
  options.validate();
  if (!team.is_alone() && options.combination == Combination::together && blocks.can_join())
    joint_.emplace(team, batch, threads);
}

std::int64_t Rounds::rounds_of(std::int64_t blocks) const {
  const std::int64_t of_a_round = joint_ ? batch_ : std::int64_t{batch_} * options_.batches;
  return largest(team_, (blocks + of_a_round - 1) / of_a_round);
}

RoundReport Rounds::improve_own(BlockAscent& blocks, Schedule& schedule, std::uint64_t end, DualState& state,
                                std::span<float> psi_change) {
  RoundReport own;
  batch_change_.resize(psi_change.size());
  std::ranges::fill(psi_change, 0.0f);
  const double caution = options_.combination == Combination::careful_sum ? team_.size() : options_.caution;
  const bool several = end - schedule.position() > static_cast<std::uint64_t>(schedule.batch_size());
  state.set_caution(caution);
  if (several) local_ = state;
  const DualState& at = several ? *local_ : state;
  while (schedule.position() < end) {
    const auto batch = schedule.next_batch(end);
    gaps_.resize(batch.size());
    const BatchReport report = blocks.improve(batch, at, batch_change_, gaps_);
    own.gap += report.gap;
    if (!std::isfinite(own.gap)) break;
    own.offset_change += report.offset_change;
    own.mean_step += report.mean_step * static_cast<double>(batch.size());
    own.visits += batch.size();
    for (std::size_t j = 0; j < psi_change.size(); ++j) psi_change[j] += batch_change_[j];
    schedule.finish_batch(gaps_);
    if (schedule.position() >= end) break;
    if (caution != 1)
      for (float& each : batch_change_) each *= static_cast<float>(caution);
    local_->move(batch_change_, report.offset_change);
  }
  state.set_caution(1);
  return own;
}

RoundReport Rounds::improve_jointly(BlockAscent& blocks, Schedule& schedule, std::uint64_t end,
                                    const DualState& state, std::span<float> psi_change) {
  std::span<const std::int32_t> batch;
  if (schedule.position() < end) batch = schedule.next_batch(end);
  gaps_.resize(batch.size());
  const BatchReport all = blocks.improve_jointly(batch, state, *joint_, psi_change, gaps_);
  schedule.finish_batch(gaps_);
  return {all.gap, all.offset_change, all.mean_step, all.visits, {}};
}

RoundReport Rounds::improve(BlockAscent& blocks, Schedule& schedule, std::uint64_t end, DualState& state,
                            std::span<float> psi_change) {
  if (joint_) return improve_jointly(blocks, schedule, end, state, psi_change);
  blocks.begin_round();
  const RoundReport own = improve_own(blocks, schedule, end, state, psi_change);
  const double slope = own.offset_change + dot(threads_, psi_change, state.weights().exact);
  const std::vector<double> mine{own.gap, own.offset_change, slope, own.mean_step,
                                 static_cast<double>(own.visits)};
  const std::vector<double> all = gather(team_, mine);

  RoundReport report;
  std::vector<double> slopes, offsets;
  for (auto rank = all.begin(); rank != all.end(); rank += std::ssize(mine)) {
    report.gap += rank[0];
    offsets.push_back(rank[1]);
    slopes.push_back(rank[2]);
    report.mean_step += rank[3];
    report.visits += static_cast<std::uint64_t>(rank[4]);
  }
  report.mean_step /= std::max(1.0, static_cast<double>(report.visits));
  const double slope_of_all = std::accumulate(slopes.begin(), slopes.end(), 0.0);
  if (!std::isfinite(report.gap) || !std::isfinite(slope_of_all)) {
    report.gap = std::numeric_limits<double>::quiet_NaN();
    return report;
  }
  exchange_.scatter(psi_change);
  report.steps = choose(slopes, state.dual_scale());
  const std::vector<double> factors(report.steps.begin(), report.steps.end());
  exchange_.combine(factors, psi_change);
  for (std::size_t k = 0; k < factors.size(); ++k) report.offset_change += factors[k] * offsets[k];
  blocks.finish_round(factors[static_cast<std::size_t>(team_.rank())]);
  return report;
}

std::vector<float> Rounds::choose(std::span<const double> slopes, double dual_scale) {
  const std::size_t ranks = slopes.size();
  switch (options_.combination) {
    case Combination::average:
      return std::vector<float>(ranks, 1 / static_cast<float>(ranks));
    case Combination::careful_sum:
      return std::vector<float>(ranks, 1.0f);
    default:
      break;
  }
  const std::vector<double> products = exchange_.gram();
  const std::vector<float> gram(products.begin(), products.end());
  if (options_.combination == Combination::one_step)
    return std::vector<float>(ranks, static_cast<float>(single_step(gram, slopes, dual_scale)));
  std::vector<float> steps(ranks);
  choose_steps(gram, slopes, dual_scale, steps, kClosely);
  return steps;
}

double mean_loss_of_all(Team& team, BlockAscent& blocks, const Weights& w) {
  const double mean = blocks.mean_loss(w);
  if (team.is_alone()) return mean;
  const auto samples = static_cast<double>(blocks.samples());
  std::vector<double> sums{samples > 0 ? mean * samples : 0.0, samples};
  add_up(team, sums);
  return sums[0] / sums[1];
}

}  // namespace lwsvm
