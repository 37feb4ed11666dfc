#include "ssvm/label_oracle.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace lwsvm {

int augment(const MarginMatrix& margin, int truth, float* scores) {
  const float* delta = margin.column(truth);
  int best = 0;
  for (int y = 0; y < margin.classes(); ++y) {
    scores[y] += delta[y];
    if (scores[y] > scores[best]) best = y;
  }
  return scores[truth] == scores[best] ? truth : best;
}

LabelOracle::LabelOracle(LabelModel& model, std::span<const std::int32_t> labels, MarginMatrix margin,
                         int evaluation_batch)
    : model_(model),
      margin_(std::move(margin)),
      blocks_(labels, margin_.classes()),
      evaluation_batch_(evaluation_batch) {}

const Directions& LabelOracle::find_planes(std::span<const std::int32_t> samples, const Weights& w,
                                           std::span<double> losses, std::span<double> gaps) {
  const std::size_t count = samples.size(), classes = margin_.classes();
  batch_.assign(samples.begin(), samples.end());
  found_.resize(count);
  scores_.resize(count * classes);
  seeds_.resize(count * classes);
  positions_.clear();
  model_.scores(samples, w, scores_);
  for (std::size_t b = 0; b < count; ++b) {
    float* row = scores_.data() + b * classes;
    const int truth = blocks_.label(samples[b]);
    const int best = found_[b] = augment(margin_, truth, row);
    losses[b] = static_cast<double>(row[best]) - row[truth];  // Delta(truth, truth) = 0
    gaps[b] = static_cast<double>(row[best]) - blocks_.dot(samples[b], row);
    if (!(gaps[b] > 0)) continue;
    const std::span<float> seed(seeds_.data() + positions_.size() * classes, classes);
    positions_.push_back(static_cast<std::int32_t>(b));
    blocks_.read(samples[b], seed);
    for (float& weight : seed) weight = -weight;
    if (best == truth)
      seed[truth] = static_cast<float>(blocks_.other_weight(samples[b]));
    else
      seed[best] += 1.0f;
  }
  return model_.backward(samples, positions_, std::span(seeds_).first(positions_.size() * classes));
}

void LabelOracle::commit(std::span<const float> steps) {
  LWSVM_CHECK(steps.size() == batch_.size());
  for (std::size_t b = 0; b < steps.size(); ++b) blocks_.blend(batch_[b], found_[b], steps[b]);
}

double LabelOracle::mean_loss(const Weights& w) {
  const std::int64_t total = samples();
  const int classes = margin_.classes();
  std::vector<std::int32_t> batch;
  double sum = 0;
  for (std::int64_t begin = 0; begin < total; begin += evaluation_batch_) {
    batch.resize(static_cast<std::size_t>(std::min<std::int64_t>(evaluation_batch_, total - begin)));
    std::iota(batch.begin(), batch.end(), static_cast<std::int32_t>(begin));
    scores_.resize(batch.size() * classes);
    model_.scores(batch, w, scores_);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      float* row = scores_.data() + b * classes;
      const int truth = blocks_.label(batch[b]);
      sum += static_cast<double>(row[augment(margin_, truth, row)]) - row[truth];
    }
  }
  return sum / static_cast<double>(total);
}

}  // namespace lwsvm
