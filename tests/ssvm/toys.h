// Small problems for the tests: a linear multi-class model in each of the three block forms, and random data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/margin_matrix.h"
#include "base/random.h"
#include "engine/parallel_gemm.h"
#include "ssvm/label_oracle.h"
#include "ssvm/plane_oracles.h"
#include "ssvm/svm_layer.h"

namespace lwsvm::toys {

struct Data {
  std::int64_t samples = 0, width = 0;
  int classes = 0;
  std::vector<float> features;       // samples x width
  std::vector<std::int32_t> labels;  // 0..classes-1

  const float* row(std::int64_t i) const { return features.data() + i * width; }
  std::int64_t dimension() const { return classes * (width + 1); }
};

// Overlapping clouds, one per class.
inline Data clouds(std::int64_t samples, std::int64_t width, int classes, double spread, std::uint64_t seed) {
  Random random(seed);
  Data data{samples, width, classes, {}, {}};
  std::vector<double> centres(static_cast<std::size_t>(classes * width));
  for (double& x : centres) x = random.normal();
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto label = static_cast<std::int32_t>(random.below(classes));
    data.labels.push_back(label);
    for (std::int64_t j = 0; j < width; ++j)
      data.features.push_back(static_cast<float>(centres[label * width + j] + spread * random.normal()));
  }
  return data;
}

inline MarginMatrix random_margin(int classes, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(classes) * classes);
  for (int y = 0; y < classes; ++y)
    for (int t = 0; t < classes; ++t)
      values[y * classes + t] = y == t ? 0.0f : static_cast<float>(random.uniform(0.2, 2));
  return MarginMatrix(classes, values);
}

inline std::vector<float> random_weights(std::int64_t size, double scale, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> w(static_cast<std::size_t>(size));
  for (float& x : w) x = static_cast<float>(scale * random.normal());
  return w;
}

// Scores W x + b of a batch, straightforwardly.
inline void linear_scores(const Data& data, std::span<const std::int32_t> samples, const Weights& w,
                          std::span<float> out) {
  for (std::size_t b = 0; b < samples.size(); ++b)
    for (int y = 0; y < data.classes; ++y) {
      double sum = w.exact[data.classes * data.width + y];
      for (std::int64_t j = 0; j < data.width; ++j)
        sum += w.exact[y * data.width + j] * data.row(samples[b])[j];
      out[b * data.classes + y] = static_cast<float>(sum);
    }
}

class LinearLabelModel final : public LabelModel {
 public:
  LinearLabelModel(const Data& data, const Threads& threads)
      : data_(data),
        rows_(data.features.data(), data.samples, data.width),
        threads_(threads),
        directions_(data.classes, data.width, Bias::yes, threads) {}

  std::int64_t dimension() const override { return data_.dimension(); }
  void scores(std::span<const std::int32_t> samples, const Weights& w, std::span<float> out) override {
    const auto count = std::ssize(samples);
    buffer_.resize(static_cast<std::size_t>(count * data_.width));
    const float* z = rows_.rows(samples, buffer_);
    parallel_gemm(threads_, Transpose::no, Transpose::yes, count, data_.classes, data_.width, 1, z,
                  data_.width, w.rounded.data(), data_.width, 0, out.data(), data_.classes);
    for (std::int64_t b = 0; b < count; ++b)
      for (int y = 0; y < data_.classes; ++y)
        out[b * data_.classes + y] += w.rounded[data_.classes * data_.width + y];
  }
  const Directions& backward(std::span<const std::int32_t> samples, std::span<const std::int32_t> positions,
                             std::span<const float> seeds) override {
    std::vector<std::int32_t> some;
    for (const auto position : positions) some.push_back(samples[position]);
    directions_.set_batch(static_cast<int>(some.size()), seeds.data(), rows_.rows(some, buffer_));
    return directions_;
  }
  const FactoredDirections* short_directions() const override { return &directions_; }

 private:
  const Data& data_;
  DenseFeatures rows_;
  Threads threads_;
  FactoredDirections directions_;
  std::vector<float> buffer_;
};

class LinearFactoredModel final : public FactoredModel {
 public:
  LinearFactoredModel(const Data& data, const MarginMatrix& margin) : data_(data), margin_(margin) {}
  std::int64_t samples() const override { return data_.samples; }
  std::int64_t outputs() const override { return data_.classes; }
  std::int64_t inputs() const override { return data_.width; }
  void planes(std::span<const std::int32_t> samples, const Weights& w, FactoredPlanes& out) override {
    linear_scores(data_, samples, w, out.outputs);
    std::vector<float> augmented(static_cast<std::size_t>(data_.classes));
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const int truth = data_.labels[samples[b]];
      std::copy_n(out.outputs.data() + b * data_.classes, data_.classes, augmented.data());
      const int best = augment(margin_, truth, augmented.data());
      float* slope = out.slopes.data() + b * data_.classes;
      std::fill_n(slope, data_.classes, 0.0f);
      slope[best] += 1;
      slope[truth] -= 1;
      out.offsets[b] = margin_(best, truth);
      std::copy_n(data_.row(samples[b]), data_.width, out.input_buffer.data() + b * data_.width);
    }
  }

 private:
  const Data& data_;
  const MarginMatrix& margin_;
};

// group > 1: a block is that many consecutive samples.
class LinearExplicitModel final : public ExplicitModel {
 public:
  LinearExplicitModel(const Data& data, const MarginMatrix& margin, std::int64_t group = 1)
      : data_(data), margin_(margin), group_(group) {}
  std::int64_t samples() const override { return data_.samples; }
  std::int64_t blocks() const override { return (data_.samples + group_ - 1) / group_; }
  std::int64_t dimension() const override { return data_.dimension(); }
  void planes(std::span<const std::int32_t> blocks, const Weights& w, ExplicitPlanes& out) override {
    const std::int64_t n = dimension();
    std::fill(out.rows.begin(), out.rows.end(), 0.0f);
    std::fill(out.offsets.begin(), out.offsets.end(), 0.0);
    std::vector<float> score(static_cast<std::size_t>(data_.classes));
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (std::int64_t i = blocks[b] * group_; i < std::min(data_.samples, (blocks[b] + 1) * group_); ++i) {
        const auto sample = static_cast<std::int32_t>(i);
        linear_scores(data_, {&sample, 1}, w, score);
        const int truth = data_.labels[i], best = augment(margin_, truth, score.data());
        for (const auto& [label, sign] : {std::pair(best, 1.0f), std::pair(truth, -1.0f)}) {
          float* row = out.rows.data() + b * n;
          for (std::int64_t j = 0; j < data_.width; ++j)
            row[label * data_.width + j] += sign * data_.row(i)[j];
          row[data_.classes * data_.width + label] += sign;
        }
        out.offsets[b] += margin_(best, truth);
      }
  }

 private:
  const Data& data_;
  const MarginMatrix& margin_;
  std::int64_t group_;
};

}  // namespace lwsvm::toys
