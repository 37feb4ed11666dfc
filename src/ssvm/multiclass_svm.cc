#include "ssvm/multiclass_svm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ssvm/svm_layer.h"
#include "ssvm/vector_math.h"

namespace lwsvm {
namespace {

void check_shape(const LinearModel& model, std::size_t numbers, std::size_t labels) {
  if (static_cast<std::int64_t>(numbers) != static_cast<std::int64_t>(labels) * model.width)
    fail("svm", "{} numbers are not {} samples of {} features", numbers, labels, model.width);
}

void check_finite(std::span<const float> features) {
  if (!std::all_of(features.begin(), features.end(), [](float x) { return std::isfinite(x); }))
    fail("svm", "the features contain NaN or infinity");
}

void check_square(std::int64_t sample, std::span<const float> values) {
  if (!(exact_dot(values.data(), values.data(), std::ssize(values)) <= std::numeric_limits<float>::max()))
    fail("svm",
         "the features of sample {} are too large for float32, which cannot hold their squares; scale them "
         "down",
         sample);
}

MulticlassSvmResult solve(SvmLayer& layer, int classes, std::int64_t width,
                          const MulticlassSvmOptions& options, const Threads& threads,
                          const Observer& observer) {
  BcfwOptions solver_options;
  solver_options.lambda = options.lambda;
  solver_options.schedule.batch_size = options.batch_size;
  solver_options.average = false;
  solver_options.seed = options.seed;
  BcfwSolver solver(layer, std::vector<float>(static_cast<std::size_t>(layer.dimension()), 0.0f),
                    solver_options, threads);

  StoppingOptions stopping;
  stopping.gap_fraction = 0;
  stopping.relative_gap = options.relative_gap;
  stopping.max_epochs = options.max_epochs;
  MulticlassSvmResult result;
  result.summary = solver.solve(stopping, observer);
  if (result.summary.reason == StopReason::overflow)
    fail("svm",
         "the features are too large: their inner products leave the range of float32; scale them down");
  result.dual_bytes = layer.block_bytes();
  const auto w = solver.weights().rounded;
  const auto split = w.begin() + classes * width;
  result.model = {classes, width, {w.begin(), split}, {split, w.end()}};
  return result;
}

}  // namespace

void MulticlassSvmOptions::validate() const {
  if (!(lambda > 0) || !std::isfinite(lambda))
    fail("svm", "lambda is {}: it must be a positive number", lambda);
  if (!(relative_gap > 0) || relative_gap >= 1)
    fail("svm", "the gap is {}: it must be in (0, 1)", relative_gap);
  if (max_epochs < 1) fail("svm", "the number of epochs is {}: at least one is needed", max_epochs);
  if (batch_size < 1) fail("svm", "the batch size is {}: at least one is needed", batch_size);
}

void LinearModel::scores(const float* row, std::span<float> out) const {
  for (int y = 0; y < classes; ++y) {
    const float* weight = weights.data() + y * width;
    double sum = biases[y];
    for (std::int64_t j = 0; j < width; ++j) sum += static_cast<double>(weight[j]) * row[j];
    out[y] = static_cast<float>(sum);
  }
}

void LinearModel::scores(const SparseRows& rows, std::int64_t row, std::span<float> out) const {
  for (int y = 0; y < classes; ++y)
    out[y] = static_cast<float>(biases[y] + rows.dot(row, weights.data() + y * width));
}

double LinearModel::squared_norm() const {
  double norm = 0;
  for (const float x : weights) norm += static_cast<double>(x) * x;
  for (const float x : biases) norm += static_cast<double>(x) * x;
  return norm;
}

int LinearModel::predict(const float* row) const {
  std::vector<float> score(static_cast<std::size_t>(classes));
  scores(row, score);
  return static_cast<int>(std::max_element(score.begin(), score.end()) - score.begin());
}

MulticlassSvmResult train_multiclass_svm(std::span<const float> features, std::int64_t width,
                                         std::span<const std::int32_t> labels, const MarginMatrix& margin,
                                         const MulticlassSvmOptions& options, const Threads& threads,
                                         const Observer& observer) {
  options.validate();
  check_shape({margin.classes(), width, {}, {}}, features.size(), labels.size());
  check_finite(features);
  for (std::int64_t i = 0; i < std::ssize(labels); ++i)
    check_square(i, features.subspan(static_cast<std::size_t>(i * width), static_cast<std::size_t>(width)));
  DenseFeatures rows(features.data(), std::ssize(labels), width);
  SvmLayer layer(rows, labels, margin, threads);
  return solve(layer, margin.classes(), width, options, threads, observer);
}

MulticlassSvmResult train_multiclass_svm(const SparseRows& features, std::span<const std::int32_t> labels,
                                         const MarginMatrix& margin, const MulticlassSvmOptions& options,
                                         const Threads& threads, const Observer& observer) {
  options.validate();
  check_finite(features.values);
  for (std::int64_t i = 0; i < std::ssize(labels); ++i) check_square(i, features.row_values(i));
  SvmLayer layer(features, labels, margin, threads);
  return solve(layer, margin.classes(), features.width, options, threads, observer);
}

// The anchor, Psi and w in double, w rounded, the change of Psi; then the model that is given back.
double svm_weight_bytes(int classes, std::int64_t width) {
  return static_cast<double>(classes) * static_cast<double>(width + 1) *
         (4.0 * sizeof(float) + 2.0 * sizeof(double));
}

double accuracy(const LinearModel& model, std::span<const float> features,
                std::span<const std::int32_t> labels) {
  check_shape(model, features.size(), labels.size());
  if (labels.empty()) return 0;
  std::int64_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    right += model.predict(features.data() + static_cast<std::int64_t>(i) * model.width) == labels[i];
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

double svm_objective(const LinearModel& model, std::span<const float> features,
                     std::span<const std::int32_t> labels, const MarginMatrix& margin, double lambda) {
  check_shape(model, features.size(), labels.size());
  double loss = 0;
  std::vector<double> score(static_cast<std::size_t>(model.classes));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* row = features.data() + static_cast<std::int64_t>(i) * model.width;
    for (int y = 0; y < model.classes; ++y) {
      score[y] = model.biases[y];
      for (std::int64_t j = 0; j < model.width; ++j)
        score[y] += static_cast<double>(model.weights[y * model.width + j]) * row[j];
    }
    double worst = 0;
    for (int y = 0; y < model.classes; ++y)
      worst = std::max(worst, margin(y, labels[i]) + score[y] - score[labels[i]]);
    loss += worst;
  }
  return 0.5 * lambda * model.squared_norm() + loss / static_cast<double>(labels.size());
}

}  // namespace lwsvm
