// One closed-form Frank-Wolfe step for a batch, all layers together [BZK19, Alg. 1], in a diagonal metric.
//
// At w the scores are linearised (delta: the gradient of the batch's mean hinge loss L at its maximising
// labels), the hinge is kept, and so is the regulariser's gradient r:
//
//   P(w') = 1/(2 eta) ||w' - w||^2_{M^-1} + <r, w' - w> + max(0, L + <delta, w' - w>)
//   gamma = clip( (L - eta <delta, M r>) / (eta <delta, M delta>), 0, 1 )          maximises the dual
//   w'    = w - eta M (r + gamma delta)
//
// The metric is Adam's [KB15]: M = 1 / (sqrt(v) + 1e-8), v the running mean of (r + delta)^2. Layers of other
// people's networks differ in scale by orders of magnitude; in the plain metric, M = 1, the largest gradient
// decides how far all of them may move (docs/results.md has the comparison). The direction r + gamma delta is
// smoothed by a running mean too, as [BZK19] does by momentum.
//
// eta is the trust region's radius, about how far a weight moves in one step; radius_race.h finds it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/checkpoint.h"
#include "engine/threads.h"
#include "net/graph.h"
#include "net/regulariser.h"

namespace lwsvm {

// The maximiser over [0, 1] of  gamma (L - eta delta_r) - eta/2 gamma^2 delta_delta.
double closed_form_gamma(double loss, double eta, double delta_r, double delta_delta);

class ProximalStep {
 public:
  // Moves these ranges of the parameters; r is 0 where the regulariser does not cover them. The regulariser
  // must outlive this.
  ProximalStep(const Regulariser& regulariser, std::vector<ParameterRange> moved, std::size_t parameters,
               const Threads& threads);

  // delta: laid out as the parameters; only what is moved is read. Returns gamma.
  double take(std::span<float> parameters, std::span<const float> delta, double loss, double eta);

  void forget_direction();  // after a step back: where it was going was wrong
  void forget();            // the metric too: as new

  // What must survive a stop; `name` is a prefix.
  void save(const std::string& name, Checkpoint& checkpoint) const;
  void restore(const std::string& name, const Checkpoint& checkpoint);

 private:
  const Regulariser* regulariser_;
  std::vector<ParameterRange> moved_;
  Threads threads_;
  std::vector<float> mean_, square_;  // of r + gamma delta, and of (r + delta)^2
  std::vector<float> regulariser_gradient_;
  std::uint64_t mean_steps_ = 0, square_steps_ = 0;
};

}  // namespace lwsvm
