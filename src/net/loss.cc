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

double cross_entropy(const float* scores, int classes, int truth, float* gradient, float weight) {
  const double top = static_cast<double>(*std::max_element(scores, scores + classes));
  double sum = 0;
  for (int y = 0; y < classes; ++y) sum += std::exp(static_cast<double>(scores[y]) - top);
  if (gradient)
    for (int y = 0; y < classes; ++y) {
      const double probability = std::exp(static_cast<double>(scores[y]) - top) / sum;
      gradient[y] =
          static_cast<float>(static_cast<double>(weight) * (probability - (y == truth ? 1.0 : 0.0)));
    }
  return top + std::log(sum) - static_cast<double>(scores[truth]);
}

}  // namespace

LossSums Loss::evaluate(const float* scores, std::span<const std::int32_t> labels, float* gradient,
                        float weight) const {
  LossSums sums;
  const int classes = margins_.classes();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* row = scores + i * static_cast<std::size_t>(classes);
    float* slope = gradient ? gradient + i * static_cast<std::size_t>(classes) : nullptr;
    sums.loss += kind_ == LossKind::hinge
                     ? hinge(row, margins_.column(labels[i]), classes, labels[i], slope, weight)
                     : cross_entropy(row, classes, labels[i], slope, weight);
    sums.correct += predicted_class(row, classes) == labels[i];
    ++sums.samples;
  }
  return sums;
}

int predicted_class(const float* scores, int classes) {
  return static_cast<int>(std::max_element(scores, scores + classes) - scores);
}

}  // namespace lwsvm
