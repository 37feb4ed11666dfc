#include "data/margin_csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/atomic_file.h"
#include "base/error.h"
#include "data/input_file.h"

namespace lwsvm {
namespace {

constexpr const char* kDeltaPlace = "delta";

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view skip_spaces(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

// The numbers of one line. Spaces around a comma belong to it; two commas in a row leave a number out.
std::vector<float> parse_line(const std::string& path, std::size_t line, std::string_view text) {
  std::vector<float> numbers;
  while (true) {
    text = skip_spaces(text);
    const std::string_view word = text.substr(0, text.find_first_of(",; \t\r"));
    float value = 0;
    const auto result = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty())
      fail(kDeltaPlace, "{} line {}: a number is missing after number {}", path, line, numbers.size());
    if (result.ec != std::errc() || result.ptr != word.data() + word.size()) {
      fail(kDeltaPlace,
           "{} line {}: '{}' is not a number; the file holds numbers only, without a header line or names",
           path, line, word.substr(0, 40));
    }
    numbers.push_back(value);
    text = skip_spaces(text.substr(word.size()));
    if (text.empty()) return numbers;
    if (text.front() == ',' || text.front() == ';') text.remove_prefix(1);
  }
}

void check_row(const std::string& path, std::size_t line, const std::vector<float>& row,
               std::size_t predicted, std::size_t classes) {
  if (row.size() != classes) {
    fail(kDeltaPlace, "{} line {}: {} numbers, expected {} (one per class)", path, line, row.size(), classes);
  }
  for (std::size_t truth = 0; truth < classes; ++truth) {
    const float value = row[truth];
    if (!std::isfinite(value) || value < 0) {
      fail(kDeltaPlace, "{} line {}: margin {} of class {} is {}; margins are finite and not negative", path,
           line, predicted, truth, value);
    }
    if (predicted == truth && value != 0) {
      fail(kDeltaPlace, "{} line {}: the margin of class {} with itself is {}; the diagonal must be 0", path,
           line, predicted, value);
    }
  }
}

}  // namespace

std::vector<float> read_margin_matrix(const std::filesystem::path& path, int classes) {
  LWSVM_CHECK(classes > 0);
  const auto count = static_cast<std::size_t>(classes);
  const std::string name = path.string();
  if (regular_file_size(kDeltaPlace, path) > 64 * count * count + 65536) {
    fail(kDeltaPlace, "{}: far too large for {} x {} numbers", name, classes, classes);
  }
  const std::string content = read_file(path);
  std::string_view rest(content);
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);  // spreadsheets put this mark in front
  std::vector<float> matrix;
  std::size_t rows = 0;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    if (skip_spaces(text).empty()) continue;
    const std::vector<float> row = parse_line(name, line, text);
    if (rows == count)
      fail(kDeltaPlace, "{} line {}: more than {} rows (one per class)", name, line, classes);
    check_row(name, line, row, rows, count);
    matrix.insert(matrix.end(), row.begin(), row.end());
    ++rows;
  }
  if (rows != count) fail(kDeltaPlace, "{}: {} rows, expected {} (one per class)", name, rows, classes);
  return matrix;
}

}  // namespace lwsvm
