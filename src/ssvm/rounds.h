// Block-coordinate Frank-Wolfe on many ranks: every rank owns a part of the blocks, all know the same w.
//
// Where directions are short (dense layers) a round is one batch, made of a share of each rank, and what is
// done with it is what one rank does (joint_batch.h): the epochs that it takes are those of one rank.
//
// Elsewhere (convolutions) each rank first takes steps of its own:
//
//   a round:   each rank improves some batches of its own, beginning at the common w      Delta_k, ell_k
//              one exchange of the Delta_k, and
//              one step per rank, chosen together:
//
//     maximise  sum_k s_k G_k - kappa/2 sum_kl s_k s_l <Delta_k, Delta_l>    over s in [0,1]^K
//     G_k = ell_k + <w, Delta_k>:   N times the dual's slope along what rank k has done
//
//              Psi += sum_k s_k Delta_k;  rank k's blocks keep s_k of their way
//
// which is exact, being how the dual changes (dual_state.h), and is what a batch does with its blocks
// (steps.h), one level up. It never lowers the dual, whatever the ranks have done. The inner products cost no
// further exchange (VectorExchange). What others do is there to be compared (bench/ssvm/rounds_bench,
// docs/mpi.md): one exact step for all, the average (s = 1/K), and the sum (s = 1) of what ranks do that are
// careful, taking kappa for K times what it is (CoCoA+ [MSJJRT15]). A little care helps here too, `caution`.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/team.h"
#include "ssvm/block_ascent.h"
#include "ssvm/joint_batch.h"
#include "ssvm/schedule.h"

namespace lwsvm {

// together: the steps of all blocks of a round at once; where they cannot, `steps`.
enum class Combination { together, steps, one_step, average, careful_sum };

struct RoundOptions {
  Combination combination = Combination::together;
  int batches = 1;     // of each rank, between two exchanges; not together, where a round is one batch
  double caution = 1;  // how many times as large as it is each rank takes kappa to be, at least 1

  void validate() const;
};

// About as careful as ranks should be whose changes are alike (docs/mpi.md).
inline double usual_caution(const Team& team) {
  return 0.5 * (1 + team.size());
}

// Of all ranks together, before the move.
struct RoundReport {
  double gap = 0, offset_change = 0, mean_step = 0;
  std::uint64_t visits = 0;
  std::vector<float> steps;  // of each rank
};

class Rounds {
 public:
  // `batch`: of each rank, at most.
  Rounds(Team& team, const BlockAscent& blocks, const RoundOptions& options, int batch,
         const Threads& threads);

  // How many rounds an epoch takes in which this rank visits so many blocks: the same on all ranks.
  std::int64_t rounds_of(std::int64_t blocks) const;

  // Improves this rank's blocks up to `end` of its schedule and those of the others. `psi_change` becomes the
  // change of Psi, the caller moves the state (which is not const only for the ranks' caution). Where a
  // number has overflowed the report's gap is not finite, and nothing else is of use.
  RoundReport improve(BlockAscent& blocks, Schedule& schedule, std::uint64_t end, DualState& state,
                      std::span<float> psi_change);

 private:
  RoundReport improve_jointly(BlockAscent& blocks, Schedule& schedule, std::uint64_t end,
                              const DualState& state, std::span<float> psi_change);
  RoundReport improve_own(BlockAscent& blocks, Schedule& schedule, std::uint64_t end, DualState& state,
                          std::span<float> psi_change);
  std::vector<float> choose(std::span<const double> slopes, double dual_scale);

  Team& team_;
  RoundOptions options_;
  int batch_;
  Threads threads_;
  std::optional<JointBatch> joint_;  // where steps are chosen together; elsewhere the next two
  VectorExchange exchange_;
  std::optional<DualState> local_;  // where this rank is within a round
  std::vector<float> batch_change_;
  std::vector<double> gaps_;
};

// Of a rank that has no samples, for a layer whose steps cannot be chosen together.
class NoBlocks final : public BlockAscent {
 public:
  explicit NoBlocks(std::int64_t dimension) : dimension_(dimension) {}

  std::int64_t samples() const override { return 0; }
  std::int64_t blocks() const override { return 0; }
  std::int64_t dimension() const override { return dimension_; }
  BatchReport improve(std::span<const std::int32_t> /*blocks*/, const DualState& /*state*/,
                      std::span<float> /*psi_change*/, std::span<double> /*gaps*/) override {
    return {};
  }
  bool can_join() const override { return false; }
  BatchReport improve_jointly(std::span<const std::int32_t> /*blocks*/, const DualState& /*state*/,
                              JointBatch& /*batch*/, std::span<float> /*psi_change*/,
                              std::span<double> /*gaps*/) override {
    return {};
  }
  void begin_round() override {}
  void finish_round(double /*share*/) override {}
  double mean_loss(const Weights& /*w*/) override { return 0; }
  void visit(StateArchive& /*archive*/) override {}
  std::uint64_t block_bytes() const override { return 0; }

 private:
  std::int64_t dimension_;
};

// 1/N sum_i H_i(w) over the samples of all ranks.
double mean_loss_of_all(Team& team, BlockAscent& blocks, const Weights& w);

}  // namespace lwsvm
