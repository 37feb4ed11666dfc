// The first radius eta of Frank-Wolfe steps (proximal_step.h), found by short runs from the same start: a
// factor of three apart, from the middle outwards, as long as it gets better.
//
// Of the radii that gain nearly as much as the best the smallest counts: the closed-form step shortens large
// ones by itself at first, so that they look alike in a short run and part in a long one. For a network that
// is trained already the one above it is taken if it gains at least half as much: a long run has time to come
// down from a larger radius and gets further with it, which a short one does not show. From random weights
// the larger one came to the same F and fewer right answers (docs/results.md).
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
  bool last = false;  // there is time for no other
};

constexpr double kLeastRadius = 1e-7, kGreatestRadius = 0.1;
constexpr double kRadiusStep = 3;  // between radii that are tried, and after a step back

// A run's radius comes down to zero with its progress, as half a cosine: the part that is left of it.
double part_left(double progress);

// `run` makes a short run with a radius; nullopt: a stop was asked for, which ends the race without a
// winner.
enum class Favour { smaller, larger };
std::optional<double> race_for_radius(double objective_at_start,
                                      const std::function<std::optional<ShortRun>(double radius)>& run,
                                      Favour favour = Favour::larger);

}  // namespace lwsvm
