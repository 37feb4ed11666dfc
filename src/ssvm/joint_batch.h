// A batch whose blocks lie on several ranks, and whose steps are chosen together as one rank chooses them.
//
// Of a dense layer with p outputs and q inputs every direction is a pair of short rows,
//
//   d_b = slope_b (x) (z_b, 1)
//
// so ranks can tell each other all directions of a batch of n: n (p + q) floats, little beside the p q of
// their sum where the layer is large. Then all know the same, and what is left is shared out once more:
//
//   gram      <d_b, d_b'>                  each rank computes the rows of its own blocks
//   combine   sum_b slope_b (x) (z_b, 1)   each rank computes some of the columns, over all blocks
//
// Both are handed round, so that a rank sends (K-1)/K of the sum: half of what an exchange of the ranks' own
// sums takes (VectorExchange). Only blocks that have a gap are told of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/team.h"
#include "engine/threads.h"
#include "ssvm/block_ascent.h"
#include "ssvm/directions.h"

namespace lwsvm {

class JointBatch {
 public:
  // No rank has more than `capacity` blocks in a batch.
  JointBatch(Team& team, std::int64_t capacity, const Threads& threads)
      : team_(team), capacity_(capacity), threads_(threads) {}

  // What this rank has seen becomes what all have: the sums of `report`, and one number for each block that
  // moves.
  void begin(BatchReport& report, std::vector<double>& numbers);
  std::int64_t count() const { return count_; }  // blocks that move, of all ranks
  std::int64_t first() const { return first_; }  // this rank's begin there
  std::int64_t own() const { return own_; }

  // This rank's rows become all ranks', count() x width.
  void gather_rows(std::span<const float> mine, std::int64_t width);
  const float* column(std::int64_t j) const { return rows_.data() + j; }  // of rows `width` apart
  std::int64_t width() const { return width_; }

  // Of the Gram matrix each rank computes the rows of its own blocks; or all, where they are computed sooner
  // than told. These are the inner products of some columns of the gathered rows: gram_rows() x count().
  std::int64_t gram_rows() const { return gram_is_shared() ? own_ : count_; }
  void products(std::int64_t first_column, std::int64_t columns, std::span<float> out) const;
  // gram_rows() x count() of every rank become count() x count().
  void gather_square(std::span<const float> mine, std::vector<float>& all);
  // out = sum_b slope_b (x) (z_b, 1): slopes count() x outputs, `stride` apart; z lies in the first columns.
  void combine(const float* slopes, std::int64_t stride, std::int64_t outputs, std::int64_t inputs, Bias bias,
               std::span<float> out);

 private:
  // mine: this rank's rows; all: everybody's, one after the other.
  void gather_parts(std::span<const float> mine, std::int64_t width, std::vector<float>& all);
  bool gram_is_shared() const;

  Team& team_;
  std::int64_t capacity_;
  Threads threads_;
  std::vector<std::int64_t> counts_;  // of each rank
  std::int64_t count_ = 0, first_ = 0, own_ = 0, width_ = 0;
  std::vector<float> rows_, padded_, gathered_;
};

}  // namespace lwsvm
