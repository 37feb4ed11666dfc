#include "ssvm/stopping.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace lwsvm {

void StoppingOptions::validate() const {
  const auto fraction = [](double x) { return x >= 0 && x < 1; };
  if (!fraction(gap_fraction)) fail("ssvm", "the gap fraction is {}: it must be in [0, 1)", gap_fraction);
  if (!fraction(relative_gap)) fail("ssvm", "the relative gap is {}: it must be in [0, 1)", relative_gap);
  if (!fraction(min_dual_rise))
    fail("ssvm", "the minimum dual rise is {}: it must be in [0, 1)", min_dual_rise);
  if (max_epochs < 1) fail("ssvm", "the number of epochs is {}: at least one is needed", max_epochs);
}

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::gap_closed:
      return "gap closed";
    case StopReason::dual_stalled:
      return "dual stopped rising";
    case StopReason::max_epochs:
      return "epochs used up";
    case StopReason::interrupted:
      return "interrupted";
    case StopReason::overflow:
      return "the numbers are too large for float32";
  }
  return "";
}

double tolerated_gap(const StoppingOptions& options, double anchor_primal, double primal, double dual) {
  return std::max(options.gap_fraction * (anchor_primal - dual), options.relative_gap * std::abs(primal));
}

bool dual_stalled(const StoppingOptions& options, double dual_before, double dual_after) {
  return options.min_dual_rise > 0 &&
         dual_after - dual_before < options.min_dual_rise * std::abs(dual_before);
}

}  // namespace lwsvm
