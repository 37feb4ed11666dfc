#include "report/table.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "report/csv.h"

namespace lwsvm {
namespace {

// A backslash before every character that is one of `special`.
std::string with_backslashes(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

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
  if (unit.size() > 1 && unit.starts_with('+')) return looks_numeric(std::string(unit.substr(1)));
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

bool Table::is_numeric(std::size_t column) const {
  bool any = false;
  for (const auto& row : rows_) {
    if (row.empty() || row[column].empty()) continue;
    if (!looks_numeric(row[column])) return false;
    any = true;
  }
  return any;
}

std::vector<std::size_t> Table::columns() const {
  std::vector<std::size_t> all(headings_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::string Table::str() const {
  std::vector<int> widths;
  std::vector<bool> right;
  for (const std::size_t c : columns()) {
    int width = display_width(headings_[c]);
    for (const auto& row : rows_)
      if (!row.empty()) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
    right.push_back(is_numeric(c));
  }

  std::string text;
  const auto append = [&](const auto& cell_of) {
    std::string line;
    for (const std::size_t c : columns()) {
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

std::string Table::markdown() const {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += " " + with_backslashes(cell, "\\|*_`<") + " |";
    return text + "\n";
  };
  std::string text = line(headings_) + "|";
  for (const std::size_t c : columns()) text += is_numeric(c) ? "---:|" : "---|";
  text += "\n";
  for (const auto& row : rows_)
    if (!row.empty()) text += line(row);
  return text;
}

std::string Table::csv() const {
  const auto line = [](const std::vector<std::string>& cells) {
    std::vector<std::string> escaped;
    escaped.reserve(cells.size());
    for (const std::string& cell : cells) escaped.push_back(csv_cell(cell));
    return fmt::format("{}\r\n", fmt::join(escaped, ","));
  };
  std::string text = line(headings_);
  for (const auto& row : rows_)
    if (!row.empty()) text += line(row);
  return text;
}

std::string Table::latex(const std::string& caption) const {
  const auto line = [](const std::vector<std::string>& cells) {
    std::vector<std::string> escaped;
    escaped.reserve(cells.size());
    for (const std::string& cell : cells) escaped.push_back(latex_escaped(cell));
    return fmt::format("{} \\\\\n", fmt::join(escaped, " & "));
  };
  std::string alignment;
  for (const std::size_t c : columns()) alignment += is_numeric(c) ? 'r' : 'l';
  std::string text =
      fmt::format("\\begin{{table}}\n\\caption{{{}}}\n\\centering\n\\begin{{tabular}}{{{}}}\n{}\\hline\n",
                  latex_escaped(caption), alignment, line(headings_));
  for (const auto& row : rows_) text += row.empty() ? "\\hline\n" : line(row);
  return text + "\\hline\n\\end{tabular}\n\\end{table}\n";
}

std::string latex_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\textbackslash{}";
    else if (c == '~')
      result += "\\textasciitilde{}";
    else if (c == '^')
      result += "\\textasciicircum{}";
    else
      result += with_backslashes({&c, 1}, "&%$#_{}");
  }
  return result;
}

}  // namespace lwsvm
