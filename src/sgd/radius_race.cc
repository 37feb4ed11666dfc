#include "sgd/radius_race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <vector>

namespace lwsvm {
namespace {

constexpr double kFirstRadius = 1e-3;
constexpr double kNearlyAsGood = 0.95, kClearlyLess = 0.99, kNothing = 1e-6;

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

double objective_ahead(double shorter, double longer, double length) {
  const double steps_of_the_trend = std::log(std::max(1.0, length)) / std::log(kRadiusStep);
  return longer + 0.5 * steps_of_the_trend * (longer - shorter);
}

std::optional<double> race_for_radius(double objective_at_start,
                                      const std::function<std::optional<ShortRun>(double radius)>& run) {
  std::map<double, double> gains;
  bool over = false;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double best = -infinity;
  const auto gain_with = [&](double radius) -> std::optional<double> {
    const std::optional<ShortRun> found = run(radius);
    if (!found) return std::nullopt;
    over = over || found->last;
    const bool counts = found->alive && std::isfinite(found->objective);
    return gains[radius] = counts ? objective_at_start - found->objective : -infinity;
  };
  const auto explore = [&](double factor) {
    for (double radius = kFirstRadius * factor; radius >= kLeastRadius && radius <= kGreatestRadius;
         radius *= factor) {
      const std::optional<double> gain = gain_with(radius);
      if (!gain) return false;
      // On to larger ones while they are clearly better, or lose clearly less; to smaller ones while they are
      // nearly as good, or until something is gained, unless they do nothing.
      const double needed = best > 0 ? best / kNearlyAsGood : kClearlyLess * best;
      const bool goes_on = factor > 1 ? *gain > needed
                           : best > 0 ? *gain > kNearlyAsGood * best
                                      : *gain > best || *gain < -kNothing * objective_at_start;
      best = std::max(best, *gain);
      if (!goes_on || over) break;
    }
    return true;
  };
  const std::optional<double> middle = gain_with(kFirstRadius);
  if (!middle) return std::nullopt;
  best = *middle;
  if (!over && !explore(kRadiusStep)) return std::nullopt;
  if (!over && gains.size() <= 2 && !explore(1 / kRadiusStep)) return std::nullopt;
  for (const auto& [radius, gain] : gains)  // in rising order
    if (gain > 0 && gain >= kNearlyAsGood * best) return radius;
  return gains.begin()->first;
}

}  // namespace lwsvm
