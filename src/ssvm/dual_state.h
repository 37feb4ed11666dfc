// The dual of the layer problem, and the w that belongs to it.
//
//   P(w) = lambda/2 ||w||^2 + mu/2 ||w - anchor||^2 + 1/N sum_i H_i(w)
//   H_i(w) = max_k <psi_ik, w> + ell_ik
//
//   shrink = mu/(lambda+mu)  (rho)          dual_scale = 1/(N (lambda+mu))  (kappa)
//
//   w = rho anchor - kappa Psi,   Psi = sum_i psi_i                                          [BZK17, Prop. 4]
//   D = -(lambda+mu)/2 ||w - rho anchor||^2 + mu <anchor, rho anchor - w> + 1/N sum_i ell_i
//       + lambda mu / (2 (lambda+mu)) ||anchor||^2
//   P(w) - D = 1/N sum_i g_i,     g_i = H_i(w) - <psi_i, w> - ell_i >= 0
//
// where (psi_i, ell_i) is block i's current convex combination of planes. Only the sums Psi and ell are kept
// here; what a block remembers is the oracle's business. At the start every block is at its zero plane: Psi =
// 0, w = rho anchor. Which planes are feasible depends neither on lambda nor on mu, so both can change while
// the state is kept. Departs from [BZK17]: D carries its constant, without which P - D is not the gap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/threads.h"
#include "ssvm/state_archive.h"
#include "ssvm/weights.h"

namespace lwsvm {

class DualState {
 public:
  // Throws Error unless lambda > 0 and mu >= 0, both finite.
  DualState(std::int64_t samples, std::vector<float> anchor, double lambda, double mu,
            const Threads& threads);

  std::int64_t samples() const { return samples_; }
  std::int64_t dimension() const { return std::ssize(anchor_); }
  std::span<const float> anchor() const { return anchor_; }
  double lambda() const { return lambda_; }
  double mu() const { return mu_; }
  double shrink() const { return mu_ / (lambda_ + mu_); }
  double dual_scale() const { return 1.0 / (static_cast<double>(samples_) * (lambda_ + mu_)); }

  Weights weights() const { return {w_, rounded_}; }
  std::span<const double> psi() const { return psi_; }
  double offset_sum() const { return offset_sum_; }  // sum_i ell_i

  double dual() const;
  // lambda/2 ||w||^2 + mu/2 ||w - anchor||^2: at the current w, and anywhere.
  double regulariser() const;
  double regulariser_at(std::span<const double> w) const;
  double anchor_regulariser() const { return 0.5 * lambda_ * anchor_anchor_; }

  // Psi += psi_change, sum ell += offset_change; w and the dual follow.
  void move(std::span<const float> psi_change, double offset_change);

  void set_regularisation(double lambda, double mu);

  // rho anchor - kappa psi for another Psi, such as an average.
  std::vector<double> weights_of(std::span<const double> psi) const;

  void visit(StateArchive& archive);

 private:
  void recompute();

  std::int64_t samples_;
  std::vector<float> anchor_;
  double lambda_, mu_;
  Threads threads_;
  std::vector<double> psi_, w_;
  std::vector<float> rounded_;
  double offset_sum_ = 0;
  double psi_psi_ = 0, anchor_psi_ = 0, anchor_anchor_ = 0;  // inner products
};

}  // namespace lwsvm
