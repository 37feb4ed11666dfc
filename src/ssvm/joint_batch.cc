#include "ssvm/joint_batch.h"

#include <algorithm>

#include "base/error.h"
#include "engine/parallel_gemm.h"

namespace lwsvm {

void JointBatch::begin(BatchReport& report, std::vector<double>& numbers) {
  LWSVM_CHECK(std::ssize(numbers) <= capacity_);
  constexpr std::size_t kSums = 4;
  std::vector<double> mine{report.gap, report.loss, static_cast<double>(report.visits),
                           static_cast<double>(numbers.size())};
  mine.insert(mine.end(), numbers.begin(), numbers.end());
  mine.resize(kSums + static_cast<std::size_t>(capacity_));
  const std::vector<double> all = lwsvm::gather(team_, mine);

  own_ = std::ssize(numbers);
  report.gap = report.loss = 0;
  report.visits = 0;
  numbers.clear();
  counts_.clear();
  for (auto rank = all.begin(); rank != all.end(); rank += std::ssize(mine)) {
    report.gap += rank[0];
    report.loss += rank[1];
    report.visits += static_cast<std::uint64_t>(rank[2]);
    if (std::ssize(counts_) == team_.rank()) first_ = std::ssize(numbers);
    counts_.push_back(static_cast<std::int64_t>(rank[3]));
    const auto begin = rank + kSums;
    numbers.insert(numbers.end(), begin, begin + counts_.back());
  }
  count_ = std::ssize(numbers);
}

void JointBatch::gather_parts(std::span<const float> mine, std::int64_t width, std::vector<float>& all) {
  LWSVM_CHECK(std::ssize(mine) == own_ * width);
  const std::int64_t piece = *std::ranges::max_element(counts_) * width;
  padded_.assign(static_cast<std::size_t>(piece), 0.0f);
  std::ranges::copy(mine, padded_.begin());
  gathered_.resize(static_cast<std::size_t>(piece) * counts_.size());
  team_.gather(std::as_bytes(std::span(padded_)), std::as_writable_bytes(std::span(gathered_)));
  all.clear();
  for (std::size_t k = 0; k < counts_.size(); ++k) {
    const auto begin = gathered_.begin() + static_cast<std::int64_t>(k) * piece;
    all.insert(all.end(), begin, begin + counts_[k] * width);
  }
}

void JointBatch::gather_rows(std::span<const float> mine, std::int64_t width) {
  width_ = width;
  gather_parts(mine, width, rows_);
}

// Four cores on a network of 10 Gbit/s do 64 operations in the time of a byte.
bool JointBatch::gram_is_shared() const {
  constexpr std::int64_t kFlopsPerFloat = 256;
  return 2 * width_ > kFlopsPerFloat;
}

void JointBatch::products(std::int64_t first_column, std::int64_t columns, std::span<float> out) const {
  const std::int64_t rows = gram_rows(), first = gram_is_shared() ? first_ : 0;
  LWSVM_CHECK(std::ssize(out) == rows * count_);
  if (rows == 0) return;
  parallel_gemm(threads_, Transpose::no, Transpose::yes, rows, count_, columns, 1.0f,
                column(first * width_ + first_column), width_, column(first_column), width_, 0.0f, out.data(),
                count_);
}

void JointBatch::gather_square(std::span<const float> mine, std::vector<float>& all) {
  if (gram_is_shared())
    gather_parts(mine, count_, all);
  else
    all.assign(mine.begin(), mine.end());
}

void JointBatch::combine(const float* slopes, std::int64_t stride, std::int64_t outputs, std::int64_t inputs,
                         Bias bias, std::span<float> out) {
  const auto ranks = static_cast<std::int64_t>(team_.size());
  const std::int64_t first = part_begin(inputs, team_.rank(), ranks),
                     columns = part_size(inputs, team_.rank(), ranks), most = part_size(inputs, 0, ranks);
  padded_.resize(static_cast<std::size_t>(outputs * most));
  if (columns > 0)
    parallel_gemm(threads_, Transpose::yes, Transpose::no, outputs, columns, count_, 1.0f, slopes, stride,
                  column(first), width_, 0.0f, padded_.data(), columns);
  gathered_.resize(padded_.size() * static_cast<std::size_t>(ranks));
  team_.gather(std::as_bytes(std::span(padded_)), std::as_writable_bytes(std::span(gathered_)));
  for (std::int64_t k = 0; k < ranks; ++k) {
    const std::int64_t begin = part_begin(inputs, k, ranks), size = part_size(inputs, k, ranks);
    const float* piece = gathered_.data() + k * outputs * most;
    for (std::int64_t o = 0; o < outputs; ++o)
      std::copy_n(piece + o * size, size, out.data() + o * inputs + begin);
  }
  if (bias == Bias::no) return;
  float* biases = out.data() + outputs * inputs;
  std::fill_n(biases, outputs, 0.0f);
  for (std::int64_t b = 0; b < count_; ++b)
    for (std::int64_t o = 0; o < outputs; ++o) biases[o] += slopes[b * stride + o];
}

}  // namespace lwsvm
