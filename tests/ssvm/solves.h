// What tests of the solver ask for, in one line each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ssvm/bcfw.h"

namespace lwsvm {

inline std::vector<double> doubles(std::span<const float> values) {
  return {values.begin(), values.end()};
}
inline std::vector<double> doubles(std::span<const double> values) {
  return {values.begin(), values.end()};
}

inline BcfwOptions options_for(double lambda, double mu, int batch, std::uint64_t seed) {
  BcfwOptions options;
  options.lambda = lambda;
  options.mu = mu;
  options.schedule.batch_size = batch;
  options.seed = seed;
  return options;
}

inline StoppingOptions until_relative_gap(double gap, int max_epochs) {
  StoppingOptions stopping;
  stopping.gap_fraction = 0;
  stopping.relative_gap = gap;
  stopping.max_epochs = max_epochs;
  return stopping;
}

}  // namespace lwsvm
