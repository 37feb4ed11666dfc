#include "ssvm/svm_layer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ssvm/joint_batch.h"
#include "ssvm/label_oracle.h"
#include "ssvm/simplex.h"

namespace lwsvm {

SvmLayer::SvmLayer(FeatureRows& features, std::span<const std::int32_t> labels, MarginMatrix margin,
                   const Threads& threads, const SvmLayerOptions& options)
    : SvmLayer(dense_products(features, threads), labels, std::move(margin), options) {}

SvmLayer::SvmLayer(const SparseRows& features, std::span<const std::int32_t> labels, MarginMatrix margin,
                   const Threads& threads, const SvmLayerOptions& options)
    : SvmLayer(sparse_products(features, threads), labels, std::move(margin), options) {}

SvmLayer::SvmLayer(std::unique_ptr<InputProducts> inputs, std::span<const std::int32_t> labels,
                   MarginMatrix margin, const SvmLayerOptions& options)
    : inputs_(std::move(inputs)),
      margin_(std::move(margin)),
      blocks_(labels, margin_.classes()),
      options_(options),
      target_(margin_.classes()),
      projection_(margin_.classes()) {
  if (inputs_->samples() != std::ssize(labels))
    fail("svm", "there are {} samples but {} labels", inputs_->samples(), labels.size());
}

std::int64_t SvmLayer::dimension() const {
  return margin_.classes() * (inputs_->width() + (options_.bias == Bias::yes ? 1 : 0));
}

BatchReport SvmLayer::improve(std::span<const std::int32_t> samples, const DualState& state,
                              std::span<float> psi_change, std::span<double> gaps) {
  BatchReport report;
  look(samples, state, gaps, report);
  if (active_.empty() || !std::isfinite(report.gap)) {  // the solver ends what has overflowed
    std::fill(psi_change.begin(), psi_change.end(), 0.0f);
    return report;
  }
  const auto count = active_.size();
  kernel_.resize(count * count);
  inputs_->gram(kernel_.data());
  if (options_.bias == Bias::yes)
    for (float& value : kernel_) value += 1.0f;
  make_points();
  sweep_projections(state.dual_scale());
  apply(0, report);
  inputs_->combine(before_.data(), margin_.classes(), psi_change.data());
  if (options_.bias == Bias::no) return report;
  const std::int64_t classes = margin_.classes();
  const auto biases = psi_change.subspan(static_cast<std::size_t>(classes * inputs_->width()));
  std::fill(biases.begin(), biases.end(), 0.0f);
  for (std::size_t a = 0; a < count; ++a)
    for (std::int64_t y = 0; y < classes; ++y) biases[y] += before_[a * classes + y];
  return report;
}

BatchReport SvmLayer::improve_jointly(std::span<const std::int32_t> samples, const DualState& state,
                                      JointBatch& batch, std::span<float> psi_change,
                                      std::span<double> gaps) {
  const std::int64_t classes = margin_.classes();
  BatchReport report;
  active_.clear();
  truths_.clear();
  if (!samples.empty()) look(samples, state, gaps, report);
  told_truths_.assign(truths_.begin(), truths_.end());
  batch.begin(report, told_truths_);
  if (batch.count() == 0 || !std::isfinite(report.gap)) {
    std::fill(psi_change.begin(), psi_change.end(), 0.0f);
    return report;
  }
  tell(batch);
  make_points();
  sweep_projections(state.dual_scale());
  apply(batch.first(), report);
  batch.combine(before_.data(), classes, classes, inputs_->width(), options_.bias, psi_change);
  return report;
}

// Scores the samples; those with a gap are then the active ones.
void SvmLayer::look(std::span<const std::int32_t> samples, const DualState& state, std::span<double> gaps,
                    BatchReport& report) {
  const std::size_t classes = margin_.classes();
  score(samples, state.weights().rounded);
  report.visits = samples.size();
  for (std::size_t b = 0; b < samples.size(); ++b) {
    float* row = scores_.data() + b * classes;
    const int truth = blocks_.label(samples[b]);
    const double highest = row[augment(margin_, truth, row)];
    gaps[b] = highest - blocks_.dot(samples[b], row);
    report.loss += highest - row[truth];
    report.gap += gaps[b];
  }
  active_.clear();
  if (std::isfinite(report.gap)) gather_active(samples, gaps);
}

void SvmLayer::score(std::span<const std::int32_t> samples, std::span<const float> w) {
  const std::int64_t classes = margin_.classes(), count = std::ssize(samples);
  scores_.resize(static_cast<std::size_t>(count * classes));
  inputs_->scores(samples, w.data(), classes, scores_.data());
  if (options_.bias == Bias::no) return;
  const float* biases = w.data() + classes * inputs_->width();
  for (std::int64_t b = 0; b < count; ++b)
    for (std::int64_t y = 0; y < classes; ++y) scores_[b * classes + y] += biases[y];
}

// A sample without a gap would not move; leaving it out makes K smaller, which is most of the work.
void SvmLayer::gather_active(std::span<const std::int32_t> samples, std::span<const double> gaps) {
  const std::size_t classes = margin_.classes();
  std::vector<std::int32_t>& positions = active_;
  for (std::size_t b = 0; b < samples.size(); ++b)
    if (gaps[b] > 0) positions.push_back(static_cast<std::int32_t>(b));
  inputs_->select(positions);

  const std::size_t count = positions.size();
  augmented_.resize(classes * count);
  before_.resize(count * classes);
  truths_.resize(count);
  for (std::size_t a = 0; a < count; ++a) {
    const std::int32_t b = positions[a];
    for (std::size_t y = 0; y < classes; ++y) augmented_[y * count + a] = scores_[b * classes + y];
    blocks_.read(samples[b], std::span(before_).subspan(a * classes, classes));
    positions[a] = samples[b];
    truths_[a] = blocks_.label(samples[b]);
  }
}

// A row for each of this rank's active samples: z, scores, alpha. Then those of all ranks are here.
void SvmLayer::tell(JointBatch& batch) {
  const std::int64_t classes = margin_.classes(), width = inputs_->width();
  const std::int64_t own = batch.own(), count = batch.count();
  rows_.clear();
  for (std::int64_t a = 0; a < own; ++a) {
    const float* z = inputs_->selected_rows() + a * width;
    rows_.insert(rows_.end(), z, z + width);
    for (std::int64_t y = 0; y < classes; ++y) rows_.push_back(augmented_[y * own + a]);
    rows_.insert(rows_.end(), before_.begin() + a * classes, before_.begin() + (a + 1) * classes);
  }
  batch.gather_rows(rows_, width + 2 * classes);
  augmented_.resize(static_cast<std::size_t>(classes * count));
  before_.resize(static_cast<std::size_t>(count * classes));
  for (std::int64_t a = 0; a < count; ++a) {
    const float* scores = batch.column(a * batch.width() + width);
    for (std::int64_t y = 0; y < classes; ++y) augmented_[y * count + a] = scores[y];
    std::copy_n(scores + classes, classes, before_.data() + a * classes);
  }
  truths_.assign(told_truths_.begin(), told_truths_.end());

  own_kernel_.resize(static_cast<std::size_t>(batch.gram_rows() * count));
  batch.products(0, width, own_kernel_);
  if (options_.bias == Bias::yes)
    for (float& value : own_kernel_) value += 1.0f;
  batch.gather_square(own_kernel_, kernel_);
}

// The true label's weight is what the others leave: it needs the digits.
void SvmLayer::make_points() {
  const std::size_t classes = margin_.classes();
  points_.assign(before_.begin(), before_.end());
  for (std::size_t a = 0; a < truths_.size(); ++a) {
    double* point = points_.data() + a * classes;
    const auto truth = static_cast<std::size_t>(truths_[a]);
    point[truth] = 0;
    point[truth] = std::max(0.0, 1.0 - std::accumulate(point, point + classes, 0.0));
  }
}

void SvmLayer::sweep_projections(double dual_scale) {
  const std::size_t classes = margin_.classes(), count = truths_.size();
  double gained = 0;
  for (int sweep = 0; sweep < options_.sweeps; ++sweep) {
    double gain = 0;
    for (std::size_t a = 0; a < count; ++a) {
      double* point = points_.data() + a * classes;
      const auto truth = static_cast<std::size_t>(truths_[a]);
      const float* kernel = kernel_.data() + a * count;
      // Without a bias a sample of zeros has no curvature: any tiny one sends it to its best vertex.
      const double curvature = std::max(dual_scale * kernel[a], 1e-12);
      for (std::size_t y = 0; y < classes; ++y) target_[y] = point[y] + augmented_[y * count + a] / curvature;
      project_to_simplex(target_, projection_);
      // As they will be stored: the others in float, the true label what they leave.
      projection_[truth] = 1.0;
      for (std::size_t y = 0; y < classes; ++y) {
        if (y == truth) continue;
        projection_[y] = static_cast<float>(projection_[y]);
        projection_[truth] -= projection_[y];
      }
      for (std::size_t y = 0; y < classes; ++y) {
        const double change = projection_[y] - point[y];
        if (change == 0) continue;
        float* scores = augmented_.data() + y * count;
        gain += change * (scores[a] - 0.5 * curvature * change);
        point[y] = projection_[y];
        const auto scaled = static_cast<float>(dual_scale * change);
        for (std::size_t other = 0; other < count; ++other) scores[other] -= scaled * kernel[other];
      }
    }
    gained += gain;
    if (gain <= options_.enough * gained) break;
  }
}

// What is applied to w is the change of the points as they are stored, so that the two never drift apart:
// `before_` becomes that change. This rank's samples begin at `first`.
void SvmLayer::apply(std::int64_t first, BatchReport& report) {
  const std::int64_t classes = margin_.classes(), count = std::ssize(truths_);
  stored_.resize(static_cast<std::size_t>(classes));
  for (std::int64_t a = 0; a < count; ++a) {
    const int truth = truths_[a];
    const float* delta = margin_.column(truth);
    const double* point = points_.data() + a * classes;
    float* change = before_.data() + a * classes;
    std::copy_n(point, classes, stored_.begin());
    double others_before = 0, others = 0;
    for (std::int64_t y = 0; y < classes; ++y) {
      if (y == truth) continue;
      others_before += change[y];
      others += stored_[y];
    }
    if (a >= first && a < first + std::ssize(active_)) blocks_.write(active_[a - first], stored_);
    for (std::int64_t y = 0; y < classes; ++y) {
      change[y] = static_cast<float>(y == truth ? others_before - others
                                                : static_cast<double>(stored_[y]) - change[y]);
      report.offset_change += static_cast<double>(delta[y]) * change[y];
      report.mean_step += 0.5 * std::abs(change[y]);  // the mass that moved
    }
  }
  report.mean_step /= static_cast<double>(count);
}

double SvmLayer::mean_loss(const Weights& w) {
  constexpr std::int64_t kBatch = 1024;
  const std::int64_t total = samples(), classes = margin_.classes();
  std::vector<std::int32_t> batch;
  double sum = 0;
  for (std::int64_t begin = 0; begin < total; begin += kBatch) {
    batch.resize(static_cast<std::size_t>(std::min(kBatch, total - begin)));
    std::iota(batch.begin(), batch.end(), static_cast<std::int32_t>(begin));
    score(batch, w.rounded);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      float* row = scores_.data() + b * classes;
      const int truth = blocks_.label(batch[b]);
      sum += static_cast<double>(row[augment(margin_, truth, row)]) - row[truth];
    }
  }
  return sum / static_cast<double>(total);
}

}  // namespace lwsvm
