// Samples that list only the features that are not zero, row after row (CSR).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lwsvm {

struct SparseRows {
  std::vector<std::int64_t> row_begin{0};  // rows + 1: where each row's entries begin
  std::vector<std::int32_t> columns;       // from 0, rising within a row
  std::vector<float> values;
  std::int64_t width = 0;  // columns are below this

  std::int64_t rows() const { return std::ssize(row_begin) - 1; }
  std::int64_t entries() const { return std::ssize(columns); }
  std::span<const std::int32_t> row_columns(std::int64_t row) const;
  std::span<const float> row_values(std::int64_t row) const;
  double dot(std::int64_t row, const float* weights) const;  // in double; weights: width

  // The columns that some row has an entry in, rising. A linear model needs weights for these alone.
  std::vector<std::int32_t> used_columns() const;
  // Only these columns (rising), renumbered from 0; entries of others are left out.
  SparseRows with_columns(std::span<const std::int32_t> kept) const;
  SparseRows picked(std::span<const std::int32_t> rows) const;
  // rows x at_width, row-major; columns are below at_width.
  std::vector<float> dense(std::int64_t at_width) const;
};

}  // namespace lwsvm
