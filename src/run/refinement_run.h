// A run of `lwsvm refine`: from settings to a written network.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/progress.h"
#include "cli/commands.h"
#include "lwsvm/refiner.h"
#include "run/judged_part.h"
#include "run/quality.h"
#include "run/task.h"

namespace lwsvm::cli {

struct RefineSettings {
  TaskOptions task;
  NormalizeOptions normalize;  // a resumed run finds it in the network's metadata
  std::string input, output, run_folder;
  std::string output_name;         // of the file's outputs; the written network remembers it
  std::string resume_folder;       // settings then come from there, but for time_limit ...
  std::vector<std::string> given;  // ... and these, if they may change: "--passes", ...
  std::string layers = "all";
  std::string lambda;  // empty: the network's own
  std::string centre;  // of the regulariser: start, zero, a file; empty: by the kind of network (centre.h)
  std::string moves = "auto", search = "auto", keep = "best", mode = "standard";
  std::string memory = "4G", time_limit;
  bool limit_counts_all_starts = false;  // else a resumed run has its limit anew
  JudgedPart judged;                     // chosen when the run begins
  nlohmann::json start;                  // quality of the input
  std::string centre_file;               // where a centre at the start came from, absolute
  RefineOptions refine;

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // cli/settings.h
    TaskOptions::fields(self.task, visit);
    visit("input", self.input);
    visit("output", self.output);
    visit("layers", self.layers);
    visit("lambda", self.lambda);
    visit("centre", self.centre);
    visit("regularise_all", self.refine.regularise_all);
    visit("moves", self.moves);
    visit("search", self.search);
    visit("keep", self.keep);
    visit("mode", self.mode);
    visit("memory", self.memory);
    visit("mu", self.refine.mu);
    visit("passes", self.refine.passes);
    visit("patience", self.refine.patience);
    visit("gap", self.refine.gap);
    visit("max_epochs", self.refine.max_epochs);
    visit("batch", self.refine.batch);
    visit("seed", self.refine.seed);
    JudgedPart::fields(self.judged, visit);
    visit("start", self.start);
    visit("centre_file", self.centre_file);
  }
};

// Refines, with log and checkpoints where there is a run folder, and writes the best network; also when time
// is up, and after Ctrl-C. Throws Error on bad input.
RunResult run_refinement(const Common& common, RefineSettings settings, Terminal& terminal);

}  // namespace lwsvm::cli
