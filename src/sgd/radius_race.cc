#include "sgd/radius_race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <vector>

namespace lwsvm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFirstRadius = 1e-3;
constexpr double kNearlyAsGood = 0.95, kClearlyMore = 1.3, kClearlyLess = 0.99, kNothing = 1e-6;
constexpr double kTolerableLoss = 0.05;               // of F, in a short run
constexpr double kFewSteps = 150, kManySteps = 1500;  // of radius_for

double gain(const ShortRun& run, double objective_at_start) {
  return run.alive && std::isfinite(run.objective) ? objective_at_start - run.objective : -kInfinity;
}

// The radii tried so far, and what each gained.
class Race {
 public:
  Race(double objective_at_start, const TryRadius& run)
      : objective_at_start_(objective_at_start), run_(run) {}

  bool enter(double radius);  // false: a stop was asked for
  // From the next radius on, each this factor from the last, as long as it pays. False: as above.
  bool explore(double from, double factor);
  double winner() const;

  std::size_t entries() const { return gains_.size(); }

 private:
  double objective_at_start_;
  const TryRadius& run_;
  std::map<double, double> gains_;
  double last_ = -kInfinity, best_ = -kInfinity;  // of what was gained
};

bool Race::enter(double radius) {
  const std::optional<ShortRun> found = run_(radius);
  if (!found) return false;
  last_ = gains_[radius] = gain(*found, objective_at_start_);
  best_ = std::max(best_, last_);
  return true;
}

bool Race::explore(double from, double factor) {
  for (double radius = from * factor; radius >= kMinRadius && radius <= kMaxRadius; radius *= factor) {
    const double before = best_;
    if (!enter(radius)) return false;
    // On to larger ones while they are clearly better, or lose clearly less; to smaller ones while they are
    // nearly as good, or until something is gained, unless they do nothing.
    const double needed = before > 0 ? before / kNearlyAsGood : kClearlyLess * before;
    const bool goes_on = factor > 1   ? last_ > needed
                         : before > 0 ? last_ > kNearlyAsGood * before
                                      : last_ > before || last_ < -kNothing * objective_at_start_;
    if (!goes_on) break;
  }
  return true;
}

double Race::winner() const {
  for (const auto& [radius, gain] : gains_)  // in rising order
    if (gain > 0 && gain >= kNearlyAsGood * best_) return radius;
  return gains_.begin()->first;
}

}  // namespace

// Scores of zero cost max_y Delta(y, y_i) on every sample; a lead of 1 for the most frequent class, of share
// p, costs twice the margin on all others and nothing on its own (exact for the 0-1 margin).
ConstantAnswer constant_answer(const SampleSource& source, const Loss& loss, Team& team) {
  std::vector<double> counts(static_cast<std::size_t>(loss.classes()), 0.0);
  double margins = 0;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const std::int32_t label = source.label(i);
    counts[static_cast<std::size_t>(label)] += 1;
    double largest = 0;
    for (int y = 0; y < loss.classes(); ++y)
      largest = std::max(largest, static_cast<double>(loss.margins()(y, label)));
    margins += largest;
  }
  add_up(team, counts);
  margins = sum(team, margins);
  const auto samples = static_cast<double>(std::max<std::int64_t>(1, sum(team, source.size())));
  const double share = *std::max_element(counts.begin(), counts.end()) / samples;
  if (loss.kind() == LossKind::hinge) return {margins / samples * std::min(1.0, 2 * (1 - share)), share};
  double entropy = 0;
  for (double count : counts)
    if (count > 0) entropy -= count / samples * std::log(count / samples);
  return {entropy, share};
}

double part_left(double progress) {
  return (1 + std::cos(std::numbers::pi * std::min(1.0, progress))) / 2;
}

double radius_for(double steps) {
  return steps < kFewSteps    ? kFirstRadius / kRadiusStep
         : steps < kManySteps ? kFirstRadius
                              : kFirstRadius * kRadiusStep;
}

std::optional<double> race_for_radius(double objective_at_start, const TryRadius& run) {
  Race race(objective_at_start, run);
  if (!race.enter(kFirstRadius)) return std::nullopt;
  if (!race.explore(kFirstRadius, kRadiusStep)) return std::nullopt;
  if (race.entries() <= 2 && !race.explore(kFirstRadius, 1 / kRadiusStep)) return std::nullopt;
  return race.winner();
}

std::optional<double> radius_that_gains(double radius, double objective_at_start, const TryRadiusFor& run) {
  const auto gained = [&](const ShortRun& found) { return gain(found, objective_at_start); };
  std::optional<ShortRun> found = run(radius, RunLength::shorter);
  while (found && gained(*found) > 0 && !found->last && radius * kRadiusStep <= kMaxRadius) {
    const std::optional<ShortRun> larger = run(radius * kRadiusStep, RunLength::shorter);
    if (larger && gained(*larger) <= kClearlyMore * gained(*found)) break;
    found = larger;
    radius *= kRadiusStep;
  }
  if (!found) return std::nullopt;
  for (;; radius /= kRadiusStep) {
    found = run(radius, RunLength::longer);
    if (!found) return std::nullopt;
    const bool does_no_harm = gained(*found) > -kTolerableLoss * objective_at_start;
    if (does_no_harm || found->last || radius / kRadiusStep < kMinRadius) return radius;
  }
}

}  // namespace lwsvm
