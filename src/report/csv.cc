#include "report/csv.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lwsvm {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> columns_of(const std::vector<ordered_json>& records) {
  std::vector<std::string> columns;
  for (const ordered_json& record : records)
    for (const auto& item : record.items())
      if (std::find(columns.begin(), columns.end(), item.key()) == columns.end())
        columns.push_back(item.key());
  return columns;
}

std::string text_of(const ordered_json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + "\"";
}

std::string to_csv(const std::vector<ordered_json>& records) {
  const std::vector<std::string> columns = columns_of(records);
  std::string csv;
  const auto add_line = [&](const auto& cell_of) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) csv += ',';
      csv += csv_cell(cell_of(columns[c]));
    }
    csv += "\r\n";
  };
  if (columns.empty()) return csv;
  add_line([](const std::string& column) { return column; });
  for (const ordered_json& record : records)
    add_line([&](const std::string& column) { return text_of(record.value(column, ordered_json())); });
  return csv;
}

}  // namespace lwsvm
