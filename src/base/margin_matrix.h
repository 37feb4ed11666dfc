// Delta(predicted, true): what it costs to predict one class where another is true. C x C, row = predicted,
// column = true; finite, non-negative, with a zero diagonal.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "base/error.h"

namespace lwsvm {

class MarginMatrix {
 public:
  explicit MarginMatrix(int classes) : MarginMatrix(zero_one(classes)) {}

  static MarginMatrix zero_one(int classes) {
    const auto size = static_cast<std::size_t>(classes);
    std::vector<float> values(size * size, 1.0f);
    for (std::size_t c = 0; c < size; ++c) values[c * size + c] = 0.0f;
    return MarginMatrix(classes, values);
  }

  // values: row = predicted, column = true.
  MarginMatrix(int classes, std::span<const float> values) : classes_(classes), by_true_(values.size()) {
    if (classes < 2) fail("margin", "there are {} classes: at least two are needed", classes);
    const auto size = static_cast<std::size_t>(classes);
    if (values.size() != size * size)
      fail("margin", "the matrix has {} entries: {} classes need {}", values.size(), classes, size * size);
    for (std::size_t predicted = 0; predicted < size; ++predicted)
      for (std::size_t truth = 0; truth < size; ++truth) {
        const float value = values[predicted * size + truth];
        if (!(value >= 0) || !std::isfinite(value) || (predicted == truth && value != 0))
          fail("margin",
               "row {}, column {}: {} is not allowed; entries are non-negative, zero on the diagonal",
               predicted, truth, value);
        by_true_[truth * size + predicted] = value;
      }
  }

  int classes() const { return classes_; }
  float operator()(int predicted, int truth) const { return column(truth)[predicted]; }
  // Delta(., truth): what a sample needs is contiguous.
  const float* column(int truth) const {
    return by_true_.data() + static_cast<std::size_t>(truth) * static_cast<std::size_t>(classes_);
  }

 private:
  int classes_;
  std::vector<float> by_true_;
};

}  // namespace lwsvm
