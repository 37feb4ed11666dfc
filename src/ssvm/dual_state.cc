#include "ssvm/dual_state.h"

#include <cmath>

#include "base/error.h"
#include "base/simd.h"
#include "ssvm/vector_math.h"

namespace lwsvm {
namespace {

struct InnerProducts {
  double psi_psi = 0, anchor_psi = 0;
  InnerProducts& operator+=(const InnerProducts& other) {
    psi_psi += other.psi_psi;
    anchor_psi += other.anchor_psi;
    return *this;
  }
};

// psi += change, w = rho anchor - kappa psi, and the inner products of the new psi.
LWSVM_SIMD InnerProducts move_range(std::int64_t count, double rho, double kappa, const float* change,
                                    const float* anchor, double* psi, double* w, float* rounded) {
  double psi_psi = 0, anchor_psi = 0;
#pragma omp simd reduction(+ : psi_psi, anchor_psi)
  for (std::int64_t j = 0; j < count; ++j) {
    const double moved = psi[j] + static_cast<double>(change[j]), from = static_cast<double>(anchor[j]);
    psi[j] = moved;
    w[j] = rho * from - kappa * moved;
    rounded[j] = static_cast<float>(w[j]);
    psi_psi += moved * moved;
    anchor_psi += from * moved;
  }
  return {psi_psi, anchor_psi};
}

void check_regularisation(double lambda, double mu) {
  if (!(lambda > 0) || !std::isfinite(lambda))
    fail("ssvm", "lambda is {}: it must be a positive number", lambda);
  if (!(mu >= 0) || !std::isfinite(mu)) fail("ssvm", "mu is {}: it must be zero or a positive number", mu);
}

}  // namespace

DualState::DualState(std::int64_t samples, std::vector<float> anchor, double lambda, double mu,
                     const Threads& threads)
    : samples_(samples), anchor_(std::move(anchor)), lambda_(lambda), mu_(mu), threads_(threads) {
  check_regularisation(lambda, mu);
  if (samples <= 0) fail("ssvm", "there are no samples");
  psi_.assign(anchor_.size(), 0.0);
  w_.resize(anchor_.size());
  rounded_.resize(anchor_.size());
  recompute();
}

void DualState::move(std::span<const float> psi_change, double offset_change) {
  LWSVM_CHECK(psi_change.size() == psi_.size());
  const double rho = shrink(), kappa = dual_scale();
  const auto products =
      sum_over_ranges<InnerProducts>(threads_, dimension(), [&](std::int64_t begin, std::int64_t end) {
        return move_range(end - begin, rho, kappa, psi_change.data() + begin, anchor_.data() + begin,
                          psi_.data() + begin, w_.data() + begin, rounded_.data() + begin);
      });
  psi_psi_ = products.psi_psi;
  anchor_psi_ = products.anchor_psi;
  offset_sum_ += offset_change;
}

void DualState::recompute() {
  anchor_anchor_ = squared_norm(threads_, anchor_);
  const std::vector<float> nothing(psi_.size(), 0.0f);
  move(nothing, 0.0);
}

double DualState::dual() const {
  // The formula of the banner with w - rho anchor = -kappa Psi.
  const double kappa = dual_scale(), stiffness = lambda_ + mu_;
  return -0.5 * stiffness * kappa * kappa * psi_psi_ + mu_ * kappa * anchor_psi_ +
         offset_sum_ / static_cast<double>(samples_) + 0.5 * lambda_ * mu_ / stiffness * anchor_anchor_;
}

double DualState::regulariser() const {
  const double rho = shrink(), kappa = dual_scale(), rest = 1.0 - rho;
  const double norm = rho * rho * anchor_anchor_ - 2 * rho * kappa * anchor_psi_ + kappa * kappa * psi_psi_;
  const double distance =
      rest * rest * anchor_anchor_ + 2 * rest * kappa * anchor_psi_ + kappa * kappa * psi_psi_;
  return 0.5 * lambda_ * norm + 0.5 * mu_ * distance;
}

double DualState::regulariser_at(std::span<const double> w) const {
  LWSVM_CHECK(w.size() == anchor_.size());
  return sum_over_ranges<double>(threads_, dimension(), [&](std::int64_t begin, std::int64_t end) {
    double norm = 0, distance = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      norm += w[j] * w[j];
      distance += (w[j] - anchor_[j]) * (w[j] - anchor_[j]);
    }
    return 0.5 * lambda_ * norm + 0.5 * mu_ * distance;
  });
}

void DualState::set_regularisation(double lambda, double mu) {
  check_regularisation(lambda, mu);
  lambda_ = lambda;
  mu_ = mu;
  recompute();
}

std::vector<double> DualState::weights_of(std::span<const double> psi) const {
  LWSVM_CHECK(psi.size() == psi_.size());
  const double rho = shrink(), kappa = dual_scale();
  std::vector<double> w(psi.size());
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = rho * anchor_[j] - kappa * psi[j];
  return w;
}

void DualState::visit(StateArchive& archive) {
  archive.array_of_same_size("dual.anchor", anchor_);
  archive.array_of_same_size("dual.psi", psi_);
  archive.scalar("dual.offset_sum", offset_sum_);
  archive.scalar("dual.lambda", lambda_);
  archive.scalar("dual.mu", mu_);
  if (archive.loading()) recompute();
}

}  // namespace lwsvm
