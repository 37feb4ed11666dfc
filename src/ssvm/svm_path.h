// The same multi-class SVM for one lambda after the other, from the largest down.
//
//   P(W, b) = lambda/2 (||W||^2 + ||b||^2) + 1/N sum_i max_y [ Delta(y, y_i) + s_y(x_i) - s_{y_i}(x_i) ]
//
// Which points of the dual are feasible does not depend on lambda: each solve begins where the last one
// ended, and the whole path costs little more than its last point.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ssvm/multiclass_svm.h"
#include "ssvm/svm_layer.h"

namespace lwsvm {

class SvmPath {
 public:
  // features: N x width, row-major. Features and labels are looked at and must outlive this; they have been
  // checked.
  SvmPath(std::span<const float> features, std::int64_t width, std::span<const std::int32_t> labels,
          const MarginMatrix& margin, int batch, std::uint64_t seed, const Threads& threads);

  // To a gap of this part of the primal, or so many epochs. Throws Error where the numbers overflow.
  Summary solve(double lambda, double relative_gap, int max_epochs, const Observer& observer = {});
  LinearModel model() const;

 private:
  int classes_;
  std::int64_t width_;
  DenseFeatures rows_;
  SvmLayer layer_;
  std::unique_ptr<BcfwSolver> solver_;
};

}  // namespace lwsvm
