// The first radius eta of Frank-Wolfe steps (proximal_step.h), found by short runs from the same start: a
// factor of three apart, from the middle outwards, as long as it gets better.
//
// A short run favours small steps. Where a much longer one is to follow, the largest radius that gains nearly
// as much as the best is taken.
//
// From random weights a large radius can kill every ReLU while the objective falls: so a run counts only if
// its network is alive, that is, does better than a constant answer.
#pragma once

#include <functional>
#include <optional>

#include "base/sample_source.h"
#include "net/loss.h"

namespace lwsvm {

// What every answer that does not look at the sample comes to, at best.
struct ConstantAnswer {
  double loss = 0, accuracy = 0;

  bool is_beaten_by(const LossSums& sums) const {
    return sums.mean_loss() < loss || sums.accuracy() > accuracy;
  }
};
ConstantAnswer constant_answer(const SampleSource& source, const Loss& loss);

struct ShortRun {
  double objective = 0;  // on a probe
  bool alive = true;
};

constexpr double kLeastRadius = 1e-7, kGreatestRadius = 0.1;
constexpr double kRadiusStep = 3;  // between radii that are tried, and after a step back

// `run` makes a short run with a radius; nullopt: a stop was asked for, which ends the race without a
// winner. `nearly`: the part of the best gain that counts as good enough, 1: only the best.
std::optional<double> race_for_radius(double objective_at_start, double nearly,
                                      const std::function<std::optional<ShortRun>(double radius)>& run);

}  // namespace lwsvm
