#include "report/table.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/progress.h"

namespace lwsvm {

bool looks_numeric(const std::string& cell) {
  if (cell == "-") return true;
  std::string digits;
  for (const char c : cell) {
    if (c != ',') digits += c;
  }
  std::string_view body = digits;
  if (body.starts_with('+')) body.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(body.data(), body.data() + body.size(), value);
  const std::string_view unit = body.substr(static_cast<std::size_t>(end - body.data()));
  if (code != std::errc()) return false;
  for (const std::string_view known : {"", "%", "x", "s", " B", " KiB", " MiB", " GiB", " TiB"}) {
    if (unit == known) return true;
  }
  return false;
}

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {
  LWSVM_CHECK(!headings_.empty());
}

void Table::add(std::vector<std::string> cells) {
  LWSVM_CHECK(cells.size() <= headings_.size());
  cells.resize(headings_.size());
  // A line break or an escape sequence in a foreign layer's name must not break the table.
  for (std::string& cell : cells) {
    cell = without_controls(cell);
    std::replace(cell.begin(), cell.end(), '\n', ' ');
    std::replace(cell.begin(), cell.end(), '\t', ' ');
  }
  rows_.push_back(std::move(cells));
}

void Table::add_rule() {
  rows_.emplace_back();
}

std::string Table::str() const {
  const std::size_t columns = headings_.size();
  std::vector<int> widths(columns);
  std::vector<bool> right(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    widths[c] = display_width(headings_[c]);
    bool all_numbers = true;
    bool any = false;
    for (const auto& row : rows_) {
      if (row.empty()) continue;
      widths[c] = std::max(widths[c], display_width(row[c]));
      any = any || !row[c].empty();
      all_numbers = all_numbers && (row[c].empty() || looks_numeric(row[c]));
    }
    right[c] = any && all_numbers;
  }

  std::string text;
  const auto append = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string cell = cell_of(c);
      const std::string padding(static_cast<std::size_t>(widths[c] - display_width(cell)), ' ');
      if (c > 0) line += "  ";
      line += right[c] ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  const auto rule = [&](std::size_t c) { return std::string(static_cast<std::size_t>(widths[c]), '-'); };
  append([&](std::size_t c) { return headings_[c]; });
  append(rule);
  for (const auto& row : rows_) {
    if (row.empty()) {
      append(rule);
    } else {
      append([&](std::size_t c) { return row[c]; });
    }
  }
  return text;
}

}  // namespace lwsvm
