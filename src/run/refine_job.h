// What `lwsvm refine` is told: which network, on what, how, and where to.
#pragma once

#include <string>
#include <vector>

#include "lwsvm/refine_options.h"
#include "run/settings.h"
#include "run/task.h"

namespace lwsvm::run {

struct RefineJob {
  TaskOptions task;
  PixelSettings pixels;  // a resumed run finds it in the network's metadata
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
  RefineOptions refine;

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // run/settings.h
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
  }
};

}  // namespace lwsvm::run
