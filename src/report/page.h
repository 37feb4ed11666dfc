// One self-contained HTML page about runs: curves, layer updates, images, settings.
//
// The page's own files are in src/report/page; what it shows is embedded as JSON:
//   { title, version, table, warnings,
//     runs: [{ name, folder, records, csv, parent, shorter, shared_epochs, shift }],
//     galleries: [...] }                                                           (cli/report_gallery.h)
// Nothing of the data is ever markup: it reaches the page as JSON, with < written as \u003c, and its scripts
// set it as text.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/run_history.h"

namespace lwsvm {

struct ReportTable {
  std::string title, caption;
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;  // an empty one ends a group
  std::vector<int> beside;                     // columns that are there to compare with
};

struct ReportInput {
  std::string title;
  std::optional<ReportTable> table;  // shown first
  std::vector<RunHistory> runs;      // linked
  nlohmann::ordered_json galleries = nlohmann::ordered_json::array();
  std::vector<std::string> warnings;
};

bool has_report();  // whether the program was built with it; without, what follows throws Error

std::string report_page(const ReportInput& input);
void write_report(const ReportInput& input, const std::filesystem::path& path);  // atomic; throws Error

}  // namespace lwsvm
