// When an inner solve is over: pure functions of what an epoch has shown.
//
//   gap <= max( gap_fraction * (P(anchor) - D),  relative_gap * |P(w)| )
//
// The first is free of scale and guarantees that P fell: P(w) - D <= eps (P(anchor) - D) means that at least
// 1 - eps of the fall that is possible has been made. The second is a floor for an anchor that is optimal
// already (nothing to gain: the first can never hold), and the rule of a plain SVM. The gap is first taken
// from the block gaps gathered during the epoch, and if those satisfy the rule, confirmed by the true primal:
// one pass of evaluation.
//
// [BZK17] stops when the dual rose by less than 1% in an epoch: min_dual_rise = 0.01. Departs from it by
// default, because on hard problems that leaves 10 to 49% of the gap.
#pragma once

#include <string_view>

namespace lwsvm {

struct StoppingOptions {
  double gap_fraction = 0.1;   // 0: off
  double relative_gap = 1e-6;  // 0: off. Float oracles cannot see much less
  double min_dual_rise = 0;    // relative, per epoch; 0: off
  int max_epochs = 50;

  void validate() const;
};

// overflow: the numbers have left the range of float32. What the solver holds is of no use.
enum class StopReason { gap_closed, dual_stalled, max_epochs, interrupted, overflow };

std::string_view to_string(StopReason reason);

double tolerated_gap(const StoppingOptions& options, double anchor_primal, double primal, double dual);

bool dual_stalled(const StoppingOptions& options, double dual_before, double dual_after);

}  // namespace lwsvm
