#include "pages/run_report.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/atomic_file.h"
#include "base/error.h"
#include "pages/gallery.h"
#include "report/csv.h"

namespace lwsvm::pages {
namespace {

namespace fs = std::filesystem;

void find_networks(RunHistory& run) {
  const RunPaths paths(run.folder);
  const auto resolved = [&](const char* setting) {
    const std::string name = run.text_setting(setting);
    return name.empty() ? "" : paths.resolve(name).string();
  };
  run.input = resolved("input");
  if (run.input.empty()) run.input = resolved("init");  // train --init
  run.output = resolved("output");
  if (const auto model = run.first("end").value("model", nlohmann::ordered_json()); model.is_string())
    run.output = paths.resolve(model.get<std::string>()).string();  // a resumed run may have had another -o
}

std::string default_title(const std::vector<RunHistory>& runs) {
  for (const RunHistory& run : runs) {
    const std::string data = run.text_setting("data");
    if (data.empty()) continue;
    const bool refines =
        std::any_of(runs.begin(), runs.end(), [](const RunHistory& r) { return !r.all("update").empty(); });
    const std::string known = data.substr(0, data.find(':'));  // of synthetic:n=300,...
    return fmt::format("{} on {}", refines ? "LW-SVM" : "Training", fs::path(known).filename().string());
  }
  return "Runs of lwsvm";
}

void write_csv(const std::vector<RunHistory>& runs, const fs::path& target) {
  if (target.extension() == ".csv" && !fs::is_directory(target)) {
    if (runs.size() > 1)
      fail("report", "--csv {}: there are {} logs and one file; give a folder instead", target.string(),
           runs.size());
    write_file_atomically(target, to_csv(runs[0].records));
    return;
  }
  std::error_code code;
  fs::create_directories(target, code);
  if (code) fail("report", "--csv {}: cannot make the folder: {}", target.string(), code.message());
  std::set<std::string> taken;
  for (const RunHistory& run : runs) {
    std::string name = run.name();
    for (int number = 2; !taken.insert(name).second; ++number)
      name = fmt::format("{}-{}", run.name(), number);
    write_file_atomically(target / (name + ".csv"), to_csv(run.records));
  }
}

}  // namespace

ReportOutcome write_run_report(const std::vector<std::string>& run_folders, const std::string& output,
                               const ReportOptions& options) {
  ReportInput input;
  for (const std::string& folder : run_folders) {
    RunHistory run = read_history(folder);
    find_networks(run);
    input.warnings.insert(input.warnings.end(), run.problems.begin(), run.problems.end());
    input.runs.push_back(std::move(run));
  }
  const bool nothing = std::all_of(input.runs.begin(), input.runs.end(),
                                   [](const RunHistory& run) { return run.records.empty(); });
  if (nothing)
    fail("report", "there is nothing to report; is this a log of lwsvm?\n{}",
         fmt::join(input.warnings, "\n"));
  link_runs(input.runs);
  input.title = options.title.empty() ? default_title(input.runs) : options.title;
  input.table = options.table;
  if (options.images) input.galleries = make_galleries(input.runs, options);
  write_report(input, output);
  if (!options.csv.empty()) write_csv(input.runs, options.csv);
  return {input.warnings};
}

}  // namespace lwsvm::pages
