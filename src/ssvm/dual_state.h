// The dual of the layer problem, and the w that belongs to it.
//
//   P(w) = lambda/2 ||w - c||^2 + mu/2 ||w - anchor||^2 + 1/N sum_i H_i(w)
//   H_i(w) = max_k <psi_ik, w> + ell_ik
//
//   shrink = mu/(lambda+mu)  (rho)          dual_scale = 1/(N (lambda+mu))  (kappa)
//
//   w = c + rho a - kappa Psi,    a = anchor - c,   Psi = sum_i psi_i            [BZK17, Prop. 4] with c = 0
//   D = -(lambda+mu)/2 kappa^2 ||Psi||^2 + mu kappa <a, Psi> + 1/N (<c, Psi> + sum_i ell_i)
//       + lambda mu / (2 (lambda+mu)) ||a||^2
//   P(w) - D = 1/N sum_i g_i,     g_i = H_i(w) - <psi_i, w> - ell_i >= 0
//
// where (psi_i, ell_i) is block i's current convex combination of planes. (In v = w - c this is the problem
// around zero with anchor a and offsets ell_i + <psi_i, c>.) Only the sums Psi and ell are kept here; what a
// block remembers is the oracle's business. At the start every block is at its zero plane: Psi = 0, w = c +
// rho a, which is the anchor itself where the centre c is the anchor. Without a centre, c = 0. Which planes
// are feasible depends neither on lambda nor on mu, so both can change while the state is kept. Departs from
// [BZK17]: D carries its constant, without which P - D is not the gap.
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
  // Throws Error unless lambda > 0 and mu >= 0, both finite. An empty centre is zero.
  DualState(std::int64_t samples, std::vector<float> anchor, double lambda, double mu, const Threads& threads,
            std::vector<float> centre = {});

  std::int64_t samples() const { return samples_; }
  std::int64_t dimension() const { return std::ssize(anchor_); }
  std::span<const float> anchor() const { return anchor_; }
  double lambda() const { return lambda_; }
  double mu() const { return mu_; }
  double shrink() const { return mu_ / (lambda_ + mu_); }
  double dual_scale() const { return caution_ / (static_cast<double>(samples_) * (lambda_ + mu_)); }

  Weights weights() const { return {w_, rounded_}; }
  std::span<const double> psi() const { return psi_; }
  double offset_sum() const { return offset_sum_; }  // sum_i ell_i

  double dual() const;
  // lambda/2 ||w - c||^2 + mu/2 ||w - anchor||^2: at the current w, and anywhere.
  double regulariser() const;
  double regulariser_at(std::span<const double> w) const;
  double anchor_regulariser() const { return 0.5 * lambda_ * shift_shift_; }

  // Psi += psi_change, sum ell += offset_change; w and the dual follow.
  void move(std::span<const float> psi_change, double offset_change);

  void set_regularisation(double lambda, double mu);

  // c + rho a - kappa psi for another Psi, such as an average.
  std::vector<double> weights_of(std::span<const double> psi) const;

  // While one of several ranks takes steps of its own (rounds.h): they are chosen as if kappa were so many
  // times as large.
  void set_caution(double caution) { caution_ = caution; }

  void visit(StateArchive& archive);

 private:
  void recompute();
  double kappa() const { return 1.0 / (static_cast<double>(samples_) * (lambda_ + mu_)); }
  double centre(std::size_t j) const { return centre_.empty() ? 0.0 : centre_[j]; }

  std::int64_t samples_;
  std::vector<float> anchor_;
  std::vector<float> centre_;  // empty: zero
  double lambda_, mu_;
  Threads threads_;
  std::vector<double> psi_, w_;
  std::vector<float> rounded_;
  double offset_sum_ = 0, caution_ = 1;
  double psi_psi_ = 0, shift_psi_ = 0, centre_psi_ = 0, shift_shift_ = 0;  // inner products; shift: a
};

}  // namespace lwsvm
