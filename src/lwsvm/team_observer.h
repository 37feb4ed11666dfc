// The observer of a run on several ranks: what each does next depends on the clock and on Ctrl-C, so they ask
// together. The time that is left is the first rank's; a stop is one that any rank was asked for.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/team.h"
#include "lwsvm/refine_observer.h"

namespace lwsvm {

class TeamObserver final : public RefineObserver {
 public:
  TeamObserver(RefineObserver& own, Team& team)
      : own_(own), team_(team), limited_(any(team, std::isfinite(own.seconds_left()))) {}

  void on_open(int pass, const std::string& layer) override { own_.on_open(pass, layer); }
  void on_progress(const SolveProgress& progress) override { own_.on_progress(progress); }
  void on_race(double eta, double objective) override { own_.on_race(eta, objective); }
  void on_sweep_progress(const SweepProgress& progress) override { own_.on_sweep_progress(progress); }
  void on_update(const LayerUpdate& update) override { own_.on_update(update); }
  void on_pass(int pass, const NetworkQuality& quality) override { own_.on_pass(pass, quality); }
  // One exchange tells whether to save here and answers the next two questions, which usually follow.
  void on_safe_point() override {
    const double mine[] = {own_.wants_to_save() ? 1.0 : 0.0, own_.stop_requested() ? 1.0 : 0.0,
                           own_.seconds_left()};
    const std::vector<double> all = gather(team_, mine);
    stop_ = false;
    for (std::size_t k = 0; k < all.size(); k += 3) stop_ = *stop_ || all[k + 1] != 0;
    left_ = all[2];
    if (all[0] != 0) own_.on_safe_point();
  }

  bool stop_requested() override {
    if (const auto known = std::exchange(stop_, std::nullopt)) return *known;
    return any(team_, own_.stop_requested());
  }
  double seconds_left() override {
    if (const auto known = std::exchange(left_, std::nullopt)) return *known;
    return limited_ ? of_first(team_, own_.seconds_left()) : std::numeric_limits<double>::infinity();
  }

 private:
  RefineObserver& own_;
  Team& team_;
  bool limited_;              // otherwise nobody need be asked
  std::optional<bool> stop_;  // what the last safe point told, until it is used
  std::optional<double> left_;
};

}  // namespace lwsvm
