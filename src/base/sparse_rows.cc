#include "base/sparse_rows.h"

#include <algorithm>

#include "base/error.h"

namespace lwsvm {

std::span<const std::int32_t> SparseRows::row_columns(std::int64_t row) const {
  return std::span(columns).subspan(row_begin[row], row_begin[row + 1] - row_begin[row]);
}

std::span<const float> SparseRows::row_values(std::int64_t row) const {
  return std::span(values).subspan(row_begin[row], row_begin[row + 1] - row_begin[row]);
}

double SparseRows::dot(std::int64_t row, const float* weights) const {
  double sum = 0;
  for (std::int64_t k = row_begin[row]; k < row_begin[row + 1]; ++k)
    sum += static_cast<double>(values[k]) * weights[columns[k]];
  return sum;
}

std::vector<std::int32_t> SparseRows::used_columns() const {
  std::vector<std::int32_t> used = columns;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

SparseRows SparseRows::with_columns(std::span<const std::int32_t> kept) const {
  SparseRows result;
  result.width = std::ssize(kept);
  for (std::int64_t row = 0; row < rows(); ++row) {
    for (std::int64_t k = row_begin[row]; k < row_begin[row + 1]; ++k) {
      const auto found = std::lower_bound(kept.begin(), kept.end(), columns[k]);
      if (found == kept.end() || *found != columns[k]) continue;
      result.columns.push_back(static_cast<std::int32_t>(found - kept.begin()));
      result.values.push_back(values[k]);
    }
    result.row_begin.push_back(std::ssize(result.columns));
  }
  return result;
}

SparseRows SparseRows::picked(std::span<const std::int32_t> rows) const {
  SparseRows result;
  result.width = width;
  for (const std::int32_t row : rows) {
    const auto from = row_columns(row);
    const auto numbers = row_values(row);
    result.columns.insert(result.columns.end(), from.begin(), from.end());
    result.values.insert(result.values.end(), numbers.begin(), numbers.end());
    result.row_begin.push_back(std::ssize(result.columns));
  }
  return result;
}

std::vector<float> SparseRows::dense(std::int64_t at_width) const {
  LWSVM_CHECK(width <= at_width);
  std::vector<float> matrix(static_cast<std::size_t>(rows() * at_width), 0.0f);
  for (std::int64_t i = 0; i < rows(); ++i)
    for (std::int64_t k = row_begin[i]; k < row_begin[i + 1]; ++k)
      matrix[i * at_width + columns[k]] = values[k];
  return matrix;
}

}  // namespace lwsvm
