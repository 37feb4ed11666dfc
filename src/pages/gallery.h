// What refining did to a network, as pictures: for each refine run the network before and after it, judged on
// the test set (or the validation part where there is none).
//
//   margin of an image = score of its true class - highest other score; positive: it is classified rightly
//
// Each gallery is a JSON object for the page:
//   { run, note }                                          if something it needs is no longer there, or
//   { run, part, samples, classes: [names], confusion: { before, after },       [true][predicted] counts
//     accuracy: { before, after }, newly_right, newly_wrong,
//     improved, damaged: [{ index, label, image, before: { label, margin }, after }],
//     filters: { layer, shape, before: [images], after: [images] } }
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "pages/run_report.h"
#include "report/run_history.h"

namespace lwsvm::pages {

// Where the relative paths among a run's settings begin: in the folder where it was begun, as its checkpoint
// remembers it. If there is none, or the file is not there (the run was copied from elsewhere): in the
// current folder, at the run, or in a folder above it that the path leads back from. An absolute path into a
// run folder means that of this name beside this one, if there is one: runs are moved and copied together.
class RunPaths {
 public:
  explicit RunPaths(const std::filesystem::path& run);  // its folder, or its log
  std::filesystem::path resolve(const std::filesystem::path& path) const;

 private:
  std::vector<std::filesystem::path> candidates(const std::filesystem::path& path) const;

  std::filesystem::path folder_, begun_in_;
};

nlohmann::ordered_json make_galleries(const std::vector<RunHistory>& runs, const ReportOptions& options);

}  // namespace lwsvm::pages
