// An independent solution of small structured SVMs, for comparison: all planes of all samples are enumerated
// and the dual,
//
//   maximise over alpha_i in the simplex:  D(alpha),  w = rho anchor - kappa sum_ik alpha_ik psi_ik
//
// is ascended by exact line search on pairs of planes of one sample (the most violating pair first), in
// double, until no pair violates. Nothing here comes from src/ssvm but the objective's definition.
#pragma once

#include <cmath>
#include <vector>

#include "base/margin_matrix.h"
#include "ssvm/toys.h"

namespace lwsvm::reference {

struct Plane {
  std::vector<double> psi;
  double ell = 0;
};

// One set of planes for each sample.
using Planes = std::vector<std::vector<Plane>>;

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

inline Planes linear_planes(const toys::Data& data, const MarginMatrix& margin) {
  Planes planes(static_cast<std::size_t>(data.samples));
  for (std::int64_t i = 0; i < data.samples; ++i)
    for (int y = 0; y < data.classes; ++y) {
      Plane plane{std::vector<double>(static_cast<std::size_t>(data.dimension()), 0.0),
                  margin(y, data.labels[i])};
      for (std::int64_t j = 0; j < data.width; ++j) {
        plane.psi[y * data.width + j] += data.row(i)[j];
        plane.psi[data.labels[i] * data.width + j] -= data.row(i)[j];
      }
      plane.psi[data.classes * data.width + y] += 1;
      plane.psi[data.classes * data.width + data.labels[i]] -= 1;
      planes[i].push_back(plane);
    }
  return planes;
}

// P(w), directly from its definition.
inline double primal(const Planes& planes, const std::vector<double>& anchor, double lambda, double mu,
                     const std::vector<double>& w) {
  double value = 0;
  for (std::size_t j = 0; j < w.size(); ++j)
    value += 0.5 * lambda * w[j] * w[j] + 0.5 * mu * (w[j] - anchor[j]) * (w[j] - anchor[j]);
  for (const auto& sample : planes) {
    double worst = -1e300;
    for (const Plane& plane : sample) worst = std::max(worst, dot(plane.psi, w) + plane.ell);
    value += worst / static_cast<double>(planes.size());
  }
  return value;
}

struct Solution {
  std::vector<double> w;
  double primal = 0;
};

inline Solution solve(const Planes& planes, const std::vector<double>& anchor, double lambda, double mu,
                      double tolerance = 1e-9, int max_rounds = 200000) {
  const double kappa = 1.0 / (static_cast<double>(planes.size()) * (lambda + mu));
  Solution solution;
  for (const double a : anchor) solution.w.push_back(mu / (lambda + mu) * a);
  std::vector<std::vector<double>> alpha;
  for (const auto& sample : planes) {
    alpha.emplace_back(sample.size(), 0.0);
    for (std::size_t k = 0; k < sample.size(); ++k)  // the zero plane
      if (sample[k].ell == 0 && dot(sample[k].psi, sample[k].psi) == 0) {
        alpha.back()[k] = 1;
        break;
      }
  }
  for (int round = 0; round < max_rounds; ++round) {
    double violation = 0;
    for (std::size_t i = 0; i < planes.size(); ++i) {
      std::size_t up = 0, down = 0;
      double highest = -1e300, lowest = 1e300;
      for (std::size_t k = 0; k < planes[i].size(); ++k) {
        const double value = dot(planes[i][k].psi, solution.w) + planes[i][k].ell;
        if (value > highest) highest = value, up = k;
        if (alpha[i][k] > 0 && value < lowest) lowest = value, down = k;
      }
      violation = std::max(violation, highest - lowest);
      if (up == down || highest <= lowest) continue;
      std::vector<double> d = planes[i][up].psi;
      for (std::size_t j = 0; j < d.size(); ++j) d[j] -= planes[i][down].psi[j];
      const double curvature = kappa * dot(d, d);
      const double step =
          curvature > 0 ? std::min(alpha[i][down], (highest - lowest) / curvature) : alpha[i][down];
      alpha[i][up] += step;
      alpha[i][down] = step == alpha[i][down] ? 0 : alpha[i][down] - step;
      for (std::size_t j = 0; j < d.size(); ++j) solution.w[j] -= kappa * step * d[j];
    }
    if (violation < tolerance) break;
  }
  solution.primal = primal(planes, anchor, lambda, mu, solution.w);
  return solution;
}

}  // namespace lwsvm::reference
