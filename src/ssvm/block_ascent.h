// One batch of blocks improved at the current w: the step that the main loop repeats.
//
// FrankWolfe (frank_wolfe.h) moves each block towards the plane its oracle finds; SvmLayer (svm_layer.h)
// solves each block exactly. Both raise the dual with every batch and report what they saw before they moved.
#pragma once

#include <cstdint>
#include <span>

#include "ssvm/dual_state.h"
#include "ssvm/state_archive.h"
#include "ssvm/weights.h"

namespace lwsvm {

class JointBatch;

struct BatchReport {
  std::uint64_t visits = 0;  // blocks
  double loss = 0;           // sum_b H_b(w), before the move
  double gap = 0;            // sum_b g_b, before the move
  double offset_change = 0;  // of sum_i ell_i
  double mean_step = 0;      // of the blocks that had a gap
};

class BlockAscent {
 public:
  virtual ~BlockAscent() = default;

  virtual std::int64_t samples() const = 0;
  virtual std::int64_t blocks() const = 0;
  virtual std::int64_t dimension() const = 0;

  // Moves the blocks; writes by how much Psi changes, and the blocks' gaps before the move. The caller moves
  // the state.
  virtual BatchReport improve(std::span<const std::int32_t> blocks, const DualState& state,
                              std::span<float> psi_change, std::span<double> gaps) = 0;

  // Of several ranks: whether the steps of all ranks' batches can be chosen together (joint_batch.h), and
  // that then. Report and `psi_change` are those of all ranks, `blocks` (there may be none) and `gaps` this
  // rank's.
  virtual bool can_join() const = 0;
  virtual BatchReport improve_jointly(std::span<const std::int32_t> blocks, const DualState& state,
                                      JointBatch& batch, std::span<float> psi_change,
                                      std::span<double> gaps) = 0;

  // Where they cannot, for rounds of many ranks (rounds.h). Between the two every block is improved at most
  // once; then each goes back all but `share` of its way.
  virtual void begin_round() = 0;
  virtual void finish_round(double share) = 0;

  virtual double mean_loss(const Weights& w) = 0;  // 1/N sum_i H_i(w)
  virtual void visit(StateArchive& archive) = 0;
  virtual std::uint64_t block_bytes() const = 0;
};

}  // namespace lwsvm
