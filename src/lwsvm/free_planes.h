// The planes of samples where something after the open layer is free: shared by the factored and the explicit
// form, which differ in how they remember a plane.
//
//   H_i(w) >= <delta*, u> + ell*     with equality at the w that is loaded
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/margin_matrix.h"
#include "lwsvm/tail_runner.h"
#include "ssvm/weights.h"

namespace lwsvm {

class FreePlanes {
 public:
  FreePlanes(TailRunner& runner, const MarginMatrix& margins);

  // slopes (one row per sample): delta* at u; offsets: ell*. u is left in the worker's buffers.
  void find(std::span<const std::int32_t> part, int worker, float* slopes, double* offsets);
  // mean_i H_i(w): no backward pass, no plane.
  double mean_loss(const Weights& w);

 private:
  // The label that attains H_i, and H's convex part: max_y Delta + S_y, plus D_{y_i}.
  struct BestLabel {
    int label = 0;
    double value = 0;
  };
  BestLabel best_label(int truth, const float* blocks, std::vector<float>& buffer) const;
  const std::vector<BestLabel>& best_labels(std::span<const std::int32_t> part, int worker);

  TailRunner& runner_;
  const MarginMatrix& margins_;
  std::vector<std::vector<float>> buffers_;    // per worker
  std::vector<std::vector<BestLabel>> found_;  // per worker
};

}  // namespace lwsvm
