#include "net/loss.h"

#include <algorithm>
#include <cmath>

namespace lwsvm {
namespace {

double hinge(const float* scores, const float* margins, int classes, int truth, float* gradient,
             float weight) {
  int worst = 0;
  double top = -HUGE_VAL;
  bool not_a_number = false;  // which no comparison would show
  for (int y = 0; y < classes; ++y) {
    const double augmented = static_cast<double>(margins[y]) + static_cast<double>(scores[y]);
    not_a_number = not_a_number || std::isnan(augmented);
    if (augmented > top) {
      top = augmented;
      worst = y;
    }
  }
  if (gradient) {
    std::fill_n(gradient, classes, 0.0f);
    if (worst != truth) {
      gradient[worst] = weight;
      gradient[truth] = -weight;
    }
  }
  return not_a_number ? std::nan("") : top - static_cast<double>(scores[truth]);
}

// The hinge with its maximum smoothed; without margins and at temperature 1 it is the cross-entropy.
double smoothed(const float* scores, const float* margins, int classes, int truth, double temperature,
                float* gradient, float weight) {
  const auto augmented = [&](int y) {
    return (margins ? static_cast<double>(margins[y]) : 0.0) + static_cast<double>(scores[y]);
  };
  double top = -HUGE_VAL;
  for (int y = 0; y < classes; ++y) top = std::max(top, augmented(y));
  const auto share = [&](int y) { return std::exp((augmented(y) - top) / temperature); };
  double sum = 0;
  for (int y = 0; y < classes; ++y) sum += share(y);
  if (gradient)
    for (int y = 0; y < classes; ++y)
      gradient[y] =
          static_cast<float>(static_cast<double>(weight) * (share(y) / sum - (y == truth ? 1.0 : 0.0)));
  return top + temperature * std::log(sum) - static_cast<double>(scores[truth]);
}

}  // namespace

LossSums Loss::evaluate(const float* scores, std::span<const std::int32_t> labels, float* gradient,
                        float weight) const {
  LossSums sums;
  const int classes = margins_.classes();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* row = scores + i * static_cast<std::size_t>(classes);
    float* slope = gradient ? gradient + i * static_cast<std::size_t>(classes) : nullptr;
    const float* margins = kind_ == LossKind::hinge ? margins_.column(labels[i]) : nullptr;
    const double temperature = kind_ == LossKind::hinge ? temperature_ : 1.0;
    sums.loss += temperature > 0 ? smoothed(row, margins, classes, labels[i], temperature, slope, weight)
                                 : hinge(row, margins, classes, labels[i], slope, weight);
    sums.correct += predicted_class(row, classes) == labels[i];
    ++sums.samples;
  }
  return sums;
}

int predicted_class(const float* scores, int classes) {
  return static_cast<int>(std::max_element(scores, scores + classes) - scores);
}

}  // namespace lwsvm
