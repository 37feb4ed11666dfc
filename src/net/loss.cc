#include "net/loss.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace lwsvm {
namespace {

double hinge(const float* scores, const float* margins, int classes, int truth, float* gradient, float weight) {
  int worst = 0;
  double top = -HUGE_VAL;
  for (int y = 0; y < classes; ++y) {
    const double augmented = static_cast<double>(margins[y]) + static_cast<double>(scores[y]);
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
  return top - static_cast<double>(scores[truth]);
}

double cross_entropy(const float* scores, int classes, int truth, float* gradient, float weight) {
  const double top = static_cast<double>(*std::max_element(scores, scores + classes));
  double sum = 0;
  for (int y = 0; y < classes; ++y) sum += std::exp(static_cast<double>(scores[y]) - top);
  if (gradient)
    for (int y = 0; y < classes; ++y) {
      const double probability = std::exp(static_cast<double>(scores[y]) - top) / sum;
      gradient[y] = static_cast<float>(static_cast<double>(weight) * (probability - (y == truth ? 1.0 : 0.0)));
    }
  return top + std::log(sum) - static_cast<double>(scores[truth]);
}

}  // namespace

MarginMatrix::MarginMatrix(int classes)
    : classes_(classes), by_truth_(static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes), 1.0f) {
  for (int y = 0; y < classes; ++y) by_truth_[index(y, y)] = 0.0f;
}

MarginMatrix::MarginMatrix(int classes, std::vector<float> row_major) : classes_(classes) {
  const auto size = static_cast<std::size_t>(classes);
  if (row_major.size() != size * size)
    fail("loss", "the margin matrix has {} entries, {} classes need {}", row_major.size(), classes, size * size);
  by_truth_.resize(size * size);
  for (int p = 0; p < classes; ++p)
    for (int t = 0; t < classes; ++t) {
      const float value = row_major[static_cast<std::size_t>(p) * size + static_cast<std::size_t>(t)];
      if (!std::isfinite(value) || value < 0) fail("loss", "margin ({}, {}) is {}; margins are finite and >= 0", p, t, value);
      if (p == t && value != 0) fail("loss", "margin ({}, {}) is {}; the diagonal must be 0", p, t, value);
      by_truth_[index(p, t)] = value;
    }
}

LossSums Loss::evaluate(const float* scores, std::span<const std::int32_t> labels, float* gradient,
                        float weight) const {
  LossSums sums;
  const int classes = margins_.classes();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* row = scores + i * static_cast<std::size_t>(classes);
    float* slope = gradient ? gradient + i * static_cast<std::size_t>(classes) : nullptr;
    sums.loss += kind_ == LossKind::hinge
                     ? hinge(row, margins_.for_truth(labels[i]), classes, labels[i], slope, weight)
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
