// Tables: aligned text for a terminal, and the same for Markdown, CSV and LaTeX.
//
//   Table table({"layer", "kind", "parameters"});
//   table.add({"conv1", "Conv", "312"});
//   table.add_rule();  table.add({"total", "", "43,210"});
//   std::string text = table.str();
//
//   layer  kind  parameters
//   -----  ----  ----------
//   conv1  Conv         312
//   -----  ----  ----------
//   total            43,210
//
// A column whose cells are all numbers (or empty) is aligned to the right, its heading with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lwsvm {

class Table {
 public:
  explicit Table(std::vector<std::string> headings);

  void add(std::vector<std::string> cells);  // missing cells at the end are empty
  void add_rule();
  const std::vector<std::string>& headings() const { return headings_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }  // an empty one is a rule

  std::string str() const;  // each line ends with \n, none with spaces

  // Cells are escaped as each format needs it. Markdown and CSV have no rules within a table.
  std::string markdown() const;
  std::string csv() const;                              // RFC 4180
  std::string latex(const std::string& caption) const;  // a table environment; the caption is plain text

 private:
  bool is_numeric(std::size_t column) const;  // all its cells are, or are empty, and not all are empty
  std::vector<std::size_t> columns() const;   // 0, 1, ...

  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

// "12", "-0.5", "1,234", "98.7%", "1.2e-05", "3.4x", "707+366" and "-" are numbers; "12x12" and "fc1" are
// not.
bool looks_numeric(const std::string& cell);

std::string latex_escaped(std::string_view text);  // plain text as LaTeX source

}  // namespace lwsvm
