#include "lwsvm/trust_region.h"

#include <algorithm>
#include <cmath>

namespace lwsvm {

double Trial::ratio() const {
  return predicted() > 0 ? actual() / predicted() : 0.0;
}

Verdict judge(const Trial& trial) {
  if (!std::isfinite(trial.after)) return Verdict::reject;
  if (trial.after < trial.before) return Verdict::accept;
  return trial.model < trial.before ? Verdict::reject : Verdict::solve_further;
}

double next_mu(const Trial& trial, Verdict verdict, double mu, double lambda) {
  if (verdict == Verdict::reject) return 4 * mu;
  if (verdict == Verdict::solve_further) return mu;
  if (trial.predicted() <= 0) return 3 * mu;
  if (trial.ratio() > 0.75) return std::max(mu / 3, kMinMuOverLambda * lambda);
  return trial.ratio() < 0.25 ? 3 * mu : mu;
}

}  // namespace lwsvm
