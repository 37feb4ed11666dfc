// A plain multi-class linear SVM [CS01]: the solver with mu = 0 and features that do not change.
//
//   minimise  lambda/2 (||W||^2 + ||b||^2) + 1/N sum_i max_y [ Delta(y, y_i) + s_y(x_i) - s_{y_i}(x_i) ]
//   s(x) = W x + b
//
// With 0-1 Delta this is `liblinear-train -s 4 -B 1 -c 1/(lambda N)`, whose objective is 1/lambda times this
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/margin_matrix.h"
#include "base/sparse_rows.h"
#include "engine/threads.h"
#include "ssvm/bcfw.h"

namespace lwsvm {

struct MulticlassSvmOptions {
  double lambda = 1e-3;
  double relative_gap = 1e-3;  // stop when P - D <= relative_gap * P, certified
  int max_epochs = 1000;
  int batch_size = 200;
  std::uint64_t seed = 0;

  void validate() const;
};

struct LinearModel {
  int classes = 0;
  std::int64_t width = 0;
  std::vector<float> weights;  // classes x width
  std::vector<float> biases;   // classes

  void scores(const float* row, std::span<float> out) const;
  void scores(const SparseRows& rows, std::int64_t row, std::span<float> out) const;
  int predict(const float* row) const;  // lowest index on ties
  double squared_norm() const;          // of weights and biases
};

struct MulticlassSvmResult {
  LinearModel model;
  Summary summary;
  std::uint64_t dual_bytes = 0;
};

// features: N x width, row-major; labels in 0..classes-1.
MulticlassSvmResult train_multiclass_svm(std::span<const float> features, std::int64_t width,
                                         std::span<const std::int32_t> labels, const MarginMatrix& margin,
                                         const MulticlassSvmOptions& options, const Threads& threads,
                                         const Observer& observer = {});

// The same for samples that list what is not zero; memory and time go with their entries, and with classes x
// width.
MulticlassSvmResult train_multiclass_svm(const SparseRows& features, std::span<const std::int32_t> labels,
                                         const MarginMatrix& margin, const MulticlassSvmOptions& options,
                                         const Threads& threads, const Observer& observer = {});
// Bytes that the weights take while they are trained, with everything that is as large.
double svm_weight_bytes(int classes, std::int64_t width);

double accuracy(const LinearModel& model, std::span<const float> features,
                std::span<const std::int32_t> labels);

// The objective above, in double throughout.
double svm_objective(const LinearModel& model, std::span<const float> features,
                     std::span<const std::int32_t> labels, const MarginMatrix& margin, double lambda);

}  // namespace lwsvm
