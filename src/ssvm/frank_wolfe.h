// Frank-Wolfe on a batch of blocks: ask the oracle, choose the steps, move.
//
//   psi_b += s_b d_b,   ell_b += s_b (ell*_b - ell_b)                  [BZK17, Alg. 1], [LJJSP13]
//
// The sum of the ell changes needs nothing from the oracle: ell*_b - ell_b = g_b - <d_b, w>, so it is
// sum_b s_b g_b - <sum_b s_b d_b, w>.
#pragma once

#include <vector>

#include "ssvm/block_ascent.h"
#include "ssvm/oracle.h"
#include "ssvm/steps.h"

namespace lwsvm {

enum class StepRule {
  per_block,  // the Gram box QP of steps.h
  single,     // one step for the whole batch [BZK17]
};

class FrankWolfe final : public BlockAscent {
 public:
  FrankWolfe(Oracle& oracle, StepRule rule, const Threads& threads, const StepOptions& steps = {})
      : oracle_(oracle), rule_(rule), threads_(threads), step_options_(steps) {}

  std::int64_t samples() const override { return oracle_.samples(); }
  std::int64_t blocks() const override { return oracle_.blocks(); }
  std::int64_t dimension() const override { return oracle_.dimension(); }
  BatchReport improve(std::span<const std::int32_t> blocks, const DualState& state,
                      std::span<float> psi_change, std::span<double> gaps) override;
  bool can_join() const override { return rule_ == StepRule::per_block && oracle_.short_directions(); }
  BatchReport improve_jointly(std::span<const std::int32_t> blocks, const DualState& state, JointBatch& batch,
                              std::span<float> psi_change, std::span<double> gaps) override;
  void begin_round() override { oracle_.begin_round(); }
  void finish_round(double share) override { oracle_.finish_round(share); }
  double mean_loss(const Weights& w) override { return oracle_.mean_loss(w); }
  void visit(StateArchive& archive) override { oracle_.visit(archive); }
  std::uint64_t block_bytes() const override { return oracle_.block_bytes(); }

 private:
  const Directions& look(std::span<const std::int32_t> blocks, const Weights& w, std::span<double> gaps,
                         BatchReport& report);
  void report_steps(std::span<const double> gaps, BatchReport& report) const;
  void commit(std::span<const double> gaps, std::span<const float> moving_steps);
  void take_steps(const Directions& directions, double dual_scale, std::span<float> psi_change);
  void take_single_step(const Directions& directions, double dual_scale, std::span<float> psi_change);

  Oracle& oracle_;
  StepRule rule_;
  Threads threads_;
  StepOptions step_options_;
  std::vector<double> losses_, moving_gaps_;
  std::vector<float> gram_, moving_steps_, steps_;  // moving: of the blocks that have a gap
  std::vector<float> rows_, products_, own_gram_;   // of a joint batch
};

}  // namespace lwsvm
