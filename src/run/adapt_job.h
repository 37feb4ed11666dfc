// What `lwsvm adapt` is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/settings.h"
#include "run/task.h"

namespace lwsvm::run {

struct AdaptJob {
  TaskOptions task;
  PixelSettings pixels;
  std::string input, output, run_folder;
  std::string output_name;
  std::string resume_folder;       // settings then come from there, but for time_limit ...
  std::vector<std::string> given;  // ... and these, if they may change
  std::string depth = "auto";      // head, auto, all
  std::string lambda;              // empty: by validation
  bool balance = false, keep_input = false;
  std::string memory = "4G", time_limit;
  bool half_features = false;
  int batch = 200;
  std::uint64_t seed = 0;

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // run/settings.h
    TaskOptions::fields(self.task, visit);
    visit("input", self.input);
    visit("output", self.output);
    visit("depth", self.depth);
    visit("lambda", self.lambda);
    visit("balance", self.balance);
    visit("keep_input", self.keep_input);
    visit("memory", self.memory);
    visit("half_features", self.half_features);
    visit("batch", self.batch);
    visit("seed", self.seed);
  }
};

}  // namespace lwsvm::run
