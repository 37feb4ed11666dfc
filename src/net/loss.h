// Losses on scores, with their gradients.
//
//   hinge           max_y [ Delta(y, y_i) + s_y - s_{y_i} ]      multi-class [CS01]; Delta: 0-1 by default
//   smoothed hinge  tau log sum_y exp((Delta(y, y_i) + s_y) / tau) - s_{y_i}      the hinge as tau -> 0
//   cross-entropy   log sum_y exp(s_y) - s_{y_i}
//
// Ties go to the lowest class index, for predictions as for the loss-augmented maximum.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/margin_matrix.h"

namespace lwsvm {

enum class LossKind { hinge, cross_entropy };

struct LossSums {
  double loss = 0;  // summed over samples, in double
  std::int64_t correct = 0;
  std::int64_t samples = 0;

  void add(const LossSums& other) {
    loss += other.loss;
    correct += other.correct;
    samples += other.samples;
  }
  double mean_loss() const { return samples > 0 ? loss / static_cast<double>(samples) : 0; }
  double accuracy() const {
    return samples > 0 ? static_cast<double>(correct) / static_cast<double>(samples) : 0;
  }
};

class Loss {
 public:
  Loss(LossKind kind, MarginMatrix margins) : kind_(kind), margins_(std::move(margins)) {}

  LossKind kind() const { return kind_; }
  int classes() const { return margins_.classes(); }
  const MarginMatrix& margins() const { return margins_; }

  // tau, of the hinge; 0 is the hinge itself.
  void set_temperature(double tau) { temperature_ = tau; }

  // scores: labels.size() x C. gradient (may be null): the derivative of `weight` times the summed loss.
  LossSums evaluate(const float* scores, std::span<const std::int32_t> labels, float* gradient,
                    float weight) const;

 private:
  LossKind kind_;
  MarginMatrix margins_;
  double temperature_ = 0;
};

int predicted_class(const float* scores, int classes);

}  // namespace lwsvm
