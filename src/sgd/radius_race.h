// The first radius eta of Frank-Wolfe steps (proximal_step.h), found by short runs from the same start: a
// factor of three apart.
//
// For a network that is trained already: the best radius grows with the steps that there is time for, because
// a large one first undoes what the network knew, and a long run makes more than good for that. Short runs do
// not see it; they favour small radii (docs/results.md has the runs of 40 to 5,000 steps). So the radius
// follows from the length (`radius_for`), and short runs only make sure that it suits this network. Where
// even a short run gains clearly more with the next larger one, as in a network that has hardly been trained,
// that one is right. Then runs three times as long: as long as much is lost, the next smaller one has its
// turn. A little lost is no reason; a long run makes more than good for it.
//
// From random weights there is one run per radius, from the middle outwards, as long as it gets better. Of
// the radii that gain nearly as much as the best the smallest counts: the closed-form step shortens large
// ones by itself at first, so that they look alike in a short run and part in a long one.
//
// A large radius can kill every ReLU while the objective falls: so a run counts only if its network is alive,
// that is, does better than a constant answer.
#pragma once

#include <functional>
#include <optional>

#include "base/sample_source.h"
#include "base/team.h"
#include "net/loss.h"

namespace lwsvm {

// What every answer that does not look at the sample comes to, at best.
struct ConstantAnswer {
  double loss = 0, accuracy = 0;

  bool is_beaten_by(const LossSums& sums) const {
    return sums.mean_loss() < loss || sums.accuracy() > accuracy;
  }
};
// Over the samples of all ranks.
ConstantAnswer constant_answer(const SampleSource& source, const Loss& loss, Team& team = alone());

struct ShortRun {
  double objective = 0;  // on a probe
  bool alive = true;
  bool last = false;  // there is time for no other
};

constexpr double kMinRadius = 1e-7, kMaxRadius = 0.1;
constexpr double kRadiusStep = 3;  // between radii that are tried, and after a step back

// A run's radius comes down to zero with its progress, as half a cosine: the part that is left of it.
double part_left(double progress);

// For a trained network that has time for so many steps.
double radius_for(double steps);

// `run` tries a radius; nullopt: a stop was asked for, which ends the search without a result.

// From random weights.
using TryRadius = std::function<std::optional<ShortRun>(double radius)>;
std::optional<double> race_for_radius(double objective_at_start, const TryRadius& run);

enum class RunLength { shorter, longer };  // by kRadiusStep
using TryRadiusFor = std::function<std::optional<ShortRun>(double radius, RunLength)>;

// This radius; a larger one where that clearly gains more; as long as much is lost, a smaller one.
std::optional<double> radius_that_gains(double radius, double objective_at_start, const TryRadiusFor& run);

}  // namespace lwsvm
