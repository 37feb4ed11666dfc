// The trust region: how far the surrogate of a layer is believed, and what happens to mu.
//
//   m(w) = (regulariser of the other layers) + lambda/2 ||w - c||^2 + mean_i H_i(w)   the model: no prox term
//   r    = (F_t - F(w)) / (F_t - m(w))                                                actual / predicted
//
//   F(w) <  F_t                accept;  r > 0.75: mu /= 3 (not below 0.01 lambda);  r < 0.25: mu *= 3;
//                              also where m(w) >= F_t: the problem was too hard for its epochs
//   F(w) >= F_t, m(w) <  F_t   reject: the model was wrong; restore w_t, mu *= 4, solve again
//   F(w) >= F_t, m(w) >= F_t   the solve was too rough: solve further, mu untouched
//   F(w) is not finite         reject: w has left the range of float32
//
// Where mu starts depends on what the model is: the loss itself (an SVM layer): at its floor; a bound on the
// loss from above (everything after the layer is searched), which cannot be wrong by much: lambda; neither
// (labels only): 10 lambda.
//
// Departs from [BZK17], which fixes mu = 10 lambda and never checks: an inexact solve, the small search space
// and the averaging can each make F rise.
#pragma once

#include <string_view>

namespace lwsvm {

enum class Verdict { accept, reject, solve_further };

struct Trial {
  double before = 0;  // F_t
  double after = 0;   // F(w)
  double model = 0;   // m(w)

  double predicted() const { return before - model; }
  double actual() const { return before - after; }
  double ratio() const;  // 0 where nothing was predicted
};

Verdict judge(const Trial& trial);
double next_mu(const Trial& trial, Verdict verdict, double mu, double lambda);

inline constexpr double kBoundMuOverLambda = 1.0;
inline constexpr double kLabelsMuOverLambda = 10.0;
inline constexpr double kPaperMuOverLambda = 10.0;
inline constexpr double kMinMuOverLambda = 0.01;
inline constexpr int kMaxAttempts = 4;

}  // namespace lwsvm
