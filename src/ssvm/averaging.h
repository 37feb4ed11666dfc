// The weighted average of the iterates, weights k/(k+2) for the old average and 2/(k+2) for the new iterate
// [LJJSP13, Sec. 4.4]; so after K iterates the k-th has weight k / (K(K+1)/2).
//
// w is affine in Psi, so the average is kept of Psi. It is kept lazily: with c_j the change of Psi that led
// to iterate j and T_k = k(k+1)/2,
//
//   average Psi = Psi_K - 1/T_K sum_j T_{j-1} c_j
//
// so an iterate costs one multiply-add per entry, and the average itself is formed when it is asked for. The
// weights grow with k^2, which double carries easily.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/threads.h"
#include "ssvm/state_archive.h"

namespace lwsvm {

class IterateAverage {
 public:
  IterateAverage(std::int64_t dimension, const Threads& threads)
      : threads_(threads), moment_(static_cast<std::size_t>(dimension), 0.0) {}

  void add(std::span<const float> psi_change);
  // The average of the iterates since the last restart, given the current Psi; Psi itself when there were
  // none.
  std::vector<double> average(std::span<const double> psi) const;
  void restart();
  std::uint64_t iterates() const { return iterates_; }

  void visit(StateArchive& archive);

 private:
  Threads threads_;
  std::vector<double> moment_;  // sum_j T_{j-1} c_j
  std::uint64_t iterates_ = 0;
};

}  // namespace lwsvm
