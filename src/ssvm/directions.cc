#include "ssvm/directions.h"

#include <algorithm>

#include "base/error.h"
#include "engine/parallel_gemm.h"

namespace lwsvm {

void FactoredDirections::gram(std::span<float> out) const {
  LWSVM_CHECK(std::ssize(out) == std::int64_t{count_} * count_);
  const float constant = bias_ == Bias::yes ? 1.0f : 0.0f;
  scratch_.resize(out.size());
  parallel_gemm(threads_, Transpose::no, Transpose::yes, count_, count_, outputs_, 1.0f, slope_rows_,
                outputs_, slope_rows_, outputs_, 0.0f, scratch_.data(), count_);
  parallel_gemm(threads_, Transpose::no, Transpose::yes, count_, count_, inputs_, 1.0f, input_rows_, inputs_,
                input_rows_, inputs_, 0.0f, out.data(), count_);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = scratch_[i] * (out[i] + constant);
}

void FactoredDirections::combine(std::span<const float> steps, std::span<float> out) const {
  LWSVM_CHECK(std::ssize(steps) == count_ && std::ssize(out) == dimension());
  scratch_.resize(static_cast<std::size_t>(count_ * outputs_));
  for (int b = 0; b < count_; ++b)
    for (std::int64_t o = 0; o < outputs_; ++o)
      scratch_[b * outputs_ + o] = steps[b] * slope_rows_[b * outputs_ + o];
  parallel_gemm(threads_, Transpose::yes, Transpose::no, outputs_, inputs_, count_, 1.0f, scratch_.data(),
                outputs_, input_rows_, inputs_, 0.0f, out.data(), inputs_);
  if (bias_ == Bias::no) return;
  const auto biases = out.subspan(static_cast<std::size_t>(outputs_ * inputs_));
  std::fill(biases.begin(), biases.end(), 0.0f);
  for (int b = 0; b < count_; ++b)
    for (std::int64_t o = 0; o < outputs_; ++o) biases[o] += scratch_[b * outputs_ + o];
}

void ExplicitDirections::gram(std::span<float> out) const {
  LWSVM_CHECK(std::ssize(out) == std::int64_t{count_} * count_);
  parallel_gemm(threads_, Transpose::no, Transpose::yes, count_, count_, dimension_, 1.0f, rows_, dimension_,
                rows_, dimension_, 0.0f, out.data(), count_);
}

void ExplicitDirections::combine(std::span<const float> steps, std::span<float> out) const {
  LWSVM_CHECK(std::ssize(steps) == count_ && std::ssize(out) == dimension_);
  // A row times a matrix is bound by memory: one stream per row, every range of columns on its own.
  constexpr std::int64_t kColumns = 4096;
  threads_.for_ranges(dimension_, kColumns, [&](std::int64_t begin, std::int64_t end) {
    std::fill(out.begin() + begin, out.begin() + end, 0.0f);
    for (int b = 0; b < count_; ++b) {
      if (steps[b] == 0.0f) continue;
      const float* row = rows_ + b * dimension_;
      for (std::int64_t j = begin; j < end; ++j) out[j] += steps[b] * row[j];
    }
  });
}

}  // namespace lwsvm
