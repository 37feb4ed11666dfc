// Reports about run folders, for `lwsvm report` and for every command that leaves one behind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/page.h"

namespace lwsvm::pages {

struct ReportOptions {
  std::string title;                 // empty: made of the runs' data set
  std::optional<ReportTable> table;  // shown first
  bool images = true;                // evaluate the networks for confusion matrices, images and filters
  std::string csv;                   // empty: none; a folder; or with one run a file that ends in .csv
  std::string data_dir;
  int threads = 0;
};

struct ReportOutcome {
  std::vector<std::string> warnings;  // what could not be read or shown; the page says it too
};

// Writes one page about all runs. Throws Error if a folder has no log, if nothing in the logs can be read, or
// if the page cannot be written.
ReportOutcome write_run_report(const std::vector<std::string>& run_folders, const std::string& output,
                               const ReportOptions& options);

}  // namespace lwsvm::pages
