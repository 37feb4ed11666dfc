// What a problem must be able to do to be solved by Frank-Wolfe steps on blocks.
//
// A block is a sample, or a group of samples with one common plane (the sums of its samples' psi, ell and H).
// The oracle owns the blocks' memory (see label_blocks.h and the helpers *_oracle.h); the solver knows only
// the sums.
#pragma once

#include <cstdint>
#include <span>

#include "ssvm/directions.h"
#include "ssvm/state_archive.h"
#include "ssvm/weights.h"

namespace lwsvm {

class Oracle {
 public:
  virtual ~Oracle() = default;

  virtual std::int64_t samples() const = 0;    // N of the objective
  virtual std::int64_t blocks() const = 0;     // N, or fewer when blocks are groups
  virtual std::int64_t dimension() const = 0;  // of w

  // For each of the given blocks (all different) the plane that attains H_b(w), compared with the block's
  // own:
  //   losses[b] = H_b(w),   gaps[b] = H_b(w) - <psi_b, w> - ell_b
  // Returns the directions d_b = psi*_b - psi_b of the blocks with gaps[b] > 0, in their order, and of no
  // other: most blocks of a nearly solved problem have no gap, and need no backward pass. They stay valid
  // until the next call of any method.
  virtual const Directions& find_planes(std::span<const std::int32_t> blocks, const Weights& w,
                                        std::span<double> losses, std::span<double> gaps) = 0;

  // Moves the blocks of the last find_planes: psi_b += s d_b, ell_b += s (ell*_b - ell_b). A step for each
  // block, 0 for those without a direction.
  virtual void commit(std::span<const float> steps) = 0;

  // Where the directions are short (joint_batch.h): those of the last find_planes, or none yet.
  virtual const FactoredDirections* short_directions() const { return nullptr; }

  // For rounds of many ranks (rounds.h). Between the two every block is committed at most once; then each
  // goes back all but `share` of its way.
  virtual void begin_round() = 0;
  virtual void finish_round(double share) = 0;

  // 1/N sum_i H_i(w), touching no block.
  virtual double mean_loss(const Weights& w) = 0;

  virtual void visit(StateArchive& archive) = 0;  // the blocks
  virtual std::uint64_t block_bytes() const = 0;  // memory that the blocks take
};

// Of a dense layer on a rank that has no samples.
class EmptyOracle final : public Oracle {
 public:
  EmptyOracle(std::int64_t outputs, std::int64_t inputs, Bias bias, const Threads& threads)
      : directions_(outputs, inputs, bias, threads) {}

  std::int64_t samples() const override { return 0; }
  std::int64_t blocks() const override { return 0; }
  std::int64_t dimension() const override { return directions_.dimension(); }
  const Directions& find_planes(std::span<const std::int32_t> /*blocks*/, const Weights& /*w*/,
                                std::span<double> /*losses*/, std::span<double> /*gaps*/) override {
    return directions_;
  }
  void commit(std::span<const float> /*steps*/) override {}
  const FactoredDirections* short_directions() const override { return &directions_; }
  void begin_round() override {}
  void finish_round(double /*share*/) override {}
  double mean_loss(const Weights& /*w*/) override { return 0; }
  void visit(StateArchive& /*archive*/) override {}
  std::uint64_t block_bytes() const override { return 0; }

 private:
  FactoredDirections directions_;
};

}  // namespace lwsvm
