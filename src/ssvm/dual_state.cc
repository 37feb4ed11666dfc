#include "ssvm/dual_state.h"

#include <cmath>

#include "base/error.h"
#include "base/simd.h"
#include "ssvm/vector_math.h"

namespace lwsvm {
namespace {

struct InnerProducts {
  double psi_psi = 0, shift_psi = 0, centre_psi = 0;
  InnerProducts& operator+=(const InnerProducts& other) {
    psi_psi += other.psi_psi;
    shift_psi += other.shift_psi;
    centre_psi += other.centre_psi;
    return *this;
  }
};

// psi += change, w = rho anchor - kappa psi, and the inner products of the new psi; around zero.
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
  return {psi_psi, anchor_psi, 0.0};
}

// The same around a centre: w = centre + rho (anchor - centre) - kappa psi.
LWSVM_SIMD InnerProducts move_centred_range(std::int64_t count, double rho, double kappa, const float* change,
                                            const float* anchor, const float* centre, double* psi, double* w,
                                            float* rounded) {
  double psi_psi = 0, shift_psi = 0, centre_psi = 0;
#pragma omp simd reduction(+ : psi_psi, shift_psi, centre_psi)
  for (std::int64_t j = 0; j < count; ++j) {
    const double moved = psi[j] + static_cast<double>(change[j]), about = static_cast<double>(centre[j]);
    const double shift = static_cast<double>(anchor[j]) - about;
    psi[j] = moved;
    w[j] = about + (rho * shift - kappa * moved);
    rounded[j] = static_cast<float>(w[j]);
    psi_psi += moved * moved;
    shift_psi += shift * moved;
    centre_psi += about * moved;
  }
  return {psi_psi, shift_psi, centre_psi};
}

void check_regularisation(double lambda, double mu) {
  if (!(lambda > 0) || !std::isfinite(lambda))
    fail("ssvm", "lambda is {}: it must be a positive number", lambda);
  if (!(mu >= 0) || !std::isfinite(mu)) fail("ssvm", "mu is {}: it must be zero or a positive number", mu);
}

}  // namespace

DualState::DualState(std::int64_t samples, std::vector<float> anchor, double lambda, double mu,
                     const Threads& threads, std::vector<float> centre)
    : samples_(samples),
      anchor_(std::move(anchor)),
      centre_(std::move(centre)),
      lambda_(lambda),
      mu_(mu),
      threads_(threads) {
  LWSVM_CHECK(centre_.empty() || centre_.size() == anchor_.size());
  check_regularisation(lambda, mu);
  if (samples <= 0) fail("ssvm", "there are no samples");
  psi_.assign(anchor_.size(), 0.0);
  w_.resize(anchor_.size());
  rounded_.resize(anchor_.size());
  recompute();
}

void DualState::move(std::span<const float> psi_change, double offset_change) {
  LWSVM_CHECK(psi_change.size() == psi_.size());
  const double rho = shrink(), kappa = this->kappa();
  const auto products =
      sum_over_ranges<InnerProducts>(threads_, dimension(), [&](std::int64_t begin, std::int64_t end) {
        if (centre_.empty())
          return move_range(end - begin, rho, kappa, psi_change.data() + begin, anchor_.data() + begin,
                            psi_.data() + begin, w_.data() + begin, rounded_.data() + begin);
        return move_centred_range(end - begin, rho, kappa, psi_change.data() + begin, anchor_.data() + begin,
                                  centre_.data() + begin, psi_.data() + begin, w_.data() + begin,
                                  rounded_.data() + begin);
      });
  psi_psi_ = products.psi_psi;
  shift_psi_ = products.shift_psi;
  centre_psi_ = products.centre_psi;
  offset_sum_ += offset_change;
}

void DualState::recompute() {
  shift_shift_ =
      centre_.empty() ? squared_norm(threads_, anchor_) : squared_distance(threads_, anchor_, centre_);
  const std::vector<float> nothing(psi_.size(), 0.0f);
  move(nothing, 0.0);
}

double DualState::dual() const {
  const double kappa = this->kappa(), stiffness = lambda_ + mu_;
  const double offsets = centre_.empty() ? offset_sum_ : offset_sum_ + centre_psi_;
  return -0.5 * stiffness * kappa * kappa * psi_psi_ + mu_ * kappa * shift_psi_ +
         offsets / static_cast<double>(samples_) + 0.5 * lambda_ * mu_ / stiffness * shift_shift_;
}

double DualState::regulariser() const {
  const double rho = shrink(), kappa = this->kappa(), rest = 1.0 - rho;
  const double norm = rho * rho * shift_shift_ - 2 * rho * kappa * shift_psi_ + kappa * kappa * psi_psi_;
  const double distance =
      rest * rest * shift_shift_ + 2 * rest * kappa * shift_psi_ + kappa * kappa * psi_psi_;
  return 0.5 * lambda_ * norm + 0.5 * mu_ * distance;
}

double DualState::regulariser_at(std::span<const double> w) const {
  LWSVM_CHECK(w.size() == anchor_.size());
  return sum_over_ranges<double>(threads_, dimension(), [&](std::int64_t begin, std::int64_t end) {
    double norm = 0, distance = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      const double from_centre = w[j] - centre(static_cast<std::size_t>(j));
      norm += from_centre * from_centre;
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
  const double rho = shrink(), kappa = this->kappa();
  std::vector<double> w(psi.size());
  for (std::size_t j = 0; j < w.size(); ++j)
    w[j] = centre_.empty() ? rho * anchor_[j] - kappa * psi[j]
                           : centre(j) + (rho * (anchor_[j] - centre(j)) - kappa * psi[j]);
  return w;
}

void DualState::visit(StateArchive& archive) {
  archive.array_of_same_size("dual.anchor", anchor_);
  if (!centre_.empty()) archive.array_of_same_size("dual.centre", centre_);
  archive.array_of_same_size("dual.psi", psi_);
  archive.scalar("dual.offset_sum", offset_sum_);
  archive.scalar("dual.lambda", lambda_);
  archive.scalar("dual.mu", mu_);
  if (archive.loading()) recompute();
}

}  // namespace lwsvm
