#include "ssvm/input_products.h"

#include <algorithm>
#include <vector>

#include "engine/parallel_gemm.h"

namespace lwsvm {
namespace {

class DenseProducts final : public InputProducts {
 public:
  DenseProducts(FeatureRows& features, const Threads& threads) : features_(features), threads_(threads) {}

  std::int64_t samples() const override { return features_.samples(); }
  std::int64_t width() const override { return features_.width(); }
  bool is_dense() const override { return true; }
  const float* selected_rows() const override { return selected_rows_; }

  void scores(std::span<const std::int32_t> batch, const float* weights, std::int64_t outputs,
              float* out) override {
    const std::int64_t q = width(), count = std::ssize(batch);
    buffer_.resize(static_cast<std::size_t>(count * q));
    rows_ = features_.rows(batch, buffer_);
    batch_ = batch.size();
    parallel_gemm(threads_, Transpose::no, Transpose::yes, count, outputs, q, 1.0f, rows_, q, weights, q,
                  0.0f, out, outputs);
  }

  void select(std::span<const std::int32_t> positions) override {
    const auto q = static_cast<std::size_t>(width());
    selected_ = positions.size();
    selected_rows_ = rows_;
    if (selected_ == batch_) return;
    kept_.resize(selected_ * q);
    for (std::size_t a = 0; a < selected_; ++a)
      std::copy_n(rows_ + static_cast<std::size_t>(positions[a]) * q, q, kept_.data() + a * q);
    selected_rows_ = kept_.data();
  }

  void gram(float* out) override {
    const auto count = static_cast<std::int64_t>(selected_);
    parallel_gemm(threads_, Transpose::no, Transpose::yes, count, count, width(), 1.0f, selected_rows_,
                  width(), selected_rows_, width(), 0.0f, out, count);
  }

  void combine(const float* slopes, std::int64_t outputs, float* out) override {
    parallel_gemm(threads_, Transpose::yes, Transpose::no, outputs, width(),
                  static_cast<std::int64_t>(selected_), 1.0f, slopes, outputs, selected_rows_, width(), 0.0f,
                  out, width());
  }

 private:
  FeatureRows& features_;
  Threads threads_;
  std::vector<float> buffer_, kept_;  // batch x q; selected x q, unless that is the whole batch
  const float *rows_ = nullptr, *selected_rows_ = nullptr;
  std::size_t batch_ = 0, selected_ = 0;
};

class SparseProducts final : public InputProducts {
 public:
  SparseProducts(const SparseRows& rows, const Threads& threads) : rows_(rows), threads_(threads) {}

  std::int64_t samples() const override { return rows_.rows(); }
  std::int64_t width() const override { return rows_.width; }
  bool is_dense() const override { return false; }
  const float* selected_rows() const override { return nullptr; }

  void scores(std::span<const std::int32_t> batch, const float* weights, std::int64_t outputs,
              float* out) override {
    constexpr std::int64_t kSamples = 16;
    batch_.assign(batch.begin(), batch.end());
    threads_.for_ranges(std::ssize(batch), kSamples, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b)
        for (std::int64_t o = 0; o < outputs; ++o)
          out[b * outputs + o] = static_cast<float>(rows_.dot(batch_[b], weights + o * width()));
    });
  }

  // The entries of the selected samples, by column: what two samples have in common lies side by side.
  void select(std::span<const std::int32_t> positions) override {
    selected_.clear();
    entries_.clear();
    for (const std::int32_t position : positions) {
      const std::int32_t sample = batch_[position];
      const auto columns = rows_.row_columns(sample);
      const auto values = rows_.row_values(sample);
      const auto at = static_cast<std::int32_t>(selected_.size());
      for (std::size_t k = 0; k < columns.size(); ++k) entries_.push_back({columns[k], at, values[k]});
      selected_.push_back(sample);
    }
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.column != b.column ? a.column < b.column : a.row < b.row;
    });
  }

  void gram(float* out) override {
    const std::size_t count = selected_.size();
    sums_.assign(count * count, 0.0);
    for (std::size_t begin = 0, end = 0; begin < entries_.size(); begin = end) {
      while (end < entries_.size() && entries_[end].column == entries_[begin].column) ++end;
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t j = begin; j <= i; ++j)
          sums_[static_cast<std::size_t>(entries_[i].row) * count +
                static_cast<std::size_t>(entries_[j].row)] +=
              static_cast<double>(entries_[i].value) * entries_[j].value;
    }
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b <= a; ++b)
        out[a * count + b] = out[b * count + a] = static_cast<float>(sums_[a * count + b]);
  }

  void combine(const float* slopes, std::int64_t outputs, float* out) override {
    threads_.for_ranges(outputs, 1, [&](std::int64_t o, std::int64_t) {
      float* row = out + o * width();
      std::fill_n(row, width(), 0.0f);
      for (const Entry& entry : entries_) row[entry.column] += slopes[entry.row * outputs + o] * entry.value;
    });
  }

 private:
  struct Entry {
    std::int32_t column, row;
    float value;
  };
  const SparseRows& rows_;
  Threads threads_;
  std::vector<std::int32_t> batch_, selected_;
  std::vector<Entry> entries_;
  std::vector<double> sums_;
};

}  // namespace

const float* DenseFeatures::rows(std::span<const std::int32_t> samples, std::span<float> buffer) {
  bool consecutive = true;
  for (std::size_t b = 1; b < samples.size() && consecutive; ++b)
    consecutive = samples[b] == samples[b - 1] + 1;
  if (consecutive && !samples.empty()) return data_ + samples[0] * width_;
  for (std::size_t b = 0; b < samples.size(); ++b)
    std::copy_n(data_ + samples[b] * width_, width_, buffer.data() + b * width_);
  return buffer.data();
}

std::unique_ptr<InputProducts> dense_products(FeatureRows& features, const Threads& threads) {
  return std::make_unique<DenseProducts>(features, threads);
}

std::unique_ptr<InputProducts> sparse_products(const SparseRows& rows, const Threads& threads) {
  return std::make_unique<SparseProducts>(rows, threads);
}

}  // namespace lwsvm
