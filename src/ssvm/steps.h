// Steps for one batch of blocks, from their gaps g and the Gram matrix G of their directions.
//
//   maximise  sum_b s_b g_b - kappa/2 sum_bb' s_b s_b' G_bb'   over  s in [0,1]^B      (*)
//
// which is N times the rise of the dual.
//
// closed_form_step: one block, s = clip(g / (kappa ||d||^2), 0, 1)                          [BZK17, Eq. 6]
// single_step:      one s for all blocks of the batch, as [BZK17] does.
// choose_steps:     each block its own, by sweeps of coordinate ascent on (*). It starts at the single step:
//                   started at zero, a few sweeps can lose to it on opposed directions; so it never raises
//                   the dual less. Departs from [BZK17], because it needs several times fewer passes.
// A block with d = 0 and g > 0 gains in proportion to its step and takes 1.
#pragma once

#include <span>

namespace lwsvm {

double closed_form_step(double gap, double squared_norm, double dual_scale);

double single_step(std::span<const float> gram, std::span<const double> gaps, double dual_scale);

struct StepOptions {
  int sweeps = 5;
  double enough = 1e-3;  // stop sweeping when a sweep gained less than this fraction of everything gained
};

void choose_steps(std::span<const float> gram, std::span<const double> gaps, double dual_scale,
                  std::span<float> steps, const StepOptions& options = {});

// The value of (*), in double.
double dual_gain(std::span<const float> gram, std::span<const double> gaps, double dual_scale,
                 std::span<const float> steps);

}  // namespace lwsvm
