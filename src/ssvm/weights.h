// The point at which a problem is looked at: the solver's w in double, and the same rounded to float.
//
// Long sums need the first; GEMM and the network's kernels take the second. A dense layer of p outputs and q
// inputs lays its w out as the p x q matrix, row-major, followed by the p biases.
#pragma once

#include <span>
#include <vector>

namespace lwsvm {

struct Weights {
  std::span<const double> exact;
  std::span<const float> rounded;
};

// A point with storage of its own, for evaluating at somewhere else than the solver's w.
class WeightVector {
 public:
  explicit WeightVector(std::span<const float> values)
      : exact_(values.begin(), values.end()), rounded_(values.begin(), values.end()) {}
  explicit WeightVector(std::vector<double> values)
      : exact_(std::move(values)), rounded_(exact_.begin(), exact_.end()) {}

  Weights view() const { return {exact_, rounded_}; }

 private:
  std::vector<double> exact_;
  std::vector<float> rounded_;
};

}  // namespace lwsvm
