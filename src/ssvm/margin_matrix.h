// Delta(predicted, true): what it costs to predict one class where another is true. C x C, row = predicted,
// column = true; non-negative with a zero diagonal.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "base/error.h"

namespace lwsvm {

class MarginMatrix {
 public:
  static MarginMatrix zero_one(int classes) {
    std::vector<float> values(static_cast<std::size_t>(classes) * classes, 1.0f);
    for (int c = 0; c < classes; ++c) values[static_cast<std::size_t>(c) * classes + c] = 0.0f;
    return MarginMatrix(classes, values);
  }

  // values: row = predicted, column = true.
  MarginMatrix(int classes, std::span<const float> values) : classes_(classes), by_true_(values.size()) {
    if (classes < 2) fail("margin", "there are {} classes: at least two are needed", classes);
    if (std::ssize(values) != std::int64_t{classes} * classes)
      fail("margin", "the matrix has {} entries: {} classes need {}", values.size(), classes,
           std::int64_t{classes} * classes);
    for (int predicted = 0; predicted < classes; ++predicted)
      for (int truth = 0; truth < classes; ++truth) {
        const float value = values[static_cast<std::size_t>(predicted) * classes + truth];
        if (!(value >= 0) || !std::isfinite(value) || (predicted == truth && value != 0))
          fail("margin",
               "row {}, column {}: {} is not allowed; entries are non-negative, zero on the diagonal",
               predicted, truth, value);
        by_true_[static_cast<std::size_t>(truth) * classes + predicted] = value;
      }
  }

  int classes() const { return classes_; }
  float operator()(int predicted, int truth) const { return column(truth)[predicted]; }
  const float* column(int truth) const {
    return by_true_.data() + static_cast<std::size_t>(truth) * classes_;
  }

 private:
  int classes_;
  std::vector<float> by_true_;  // transposed: what a sample needs is contiguous
};

}  // namespace lwsvm
