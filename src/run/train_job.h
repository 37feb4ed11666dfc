// What `lwsvm train` is told: which network, on what, how, and where to.
#pragma once

#include <string>
#include <vector>

#include "run/settings.h"
#include "run/task.h"
#include "sgd/trainer.h"

namespace lwsvm::run {

struct TrainJob {
  TaskOptions task;
  PixelSettings pixels;
  TrainOptions train;
  std::string arch = "mnist";
  std::string init;         // a network to start from, instead of `arch`
  std::string output_name;  // of its outputs; the written network remembers it
  std::string output;
  std::string run_folder;
  std::string resume_folder;       // settings then come from there ...
  std::vector<std::string> given;  // ... but for these, if they may change: "--epochs", ...
  bool lambda_given = false;       // else it is that of `init`
  std::string time_limit;

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // run/settings.h
    TaskOptions::fields(self.task, visit);
    visit("arch", self.arch);
    visit("init", self.init);
    visit("output", self.output);
    visit("solver", self.train.solver);
    visit("learning_rate", self.train.learning_rate);
    visit("lambda", self.train.lambda);
    visit("epochs", self.train.epochs);
    visit("schedule", self.train.schedule);
    visit("time_limit", self.time_limit);
    visit("batch", self.train.batch);
    visit("eval_every", self.train.eval_every);
    visit("seed", self.train.seed);
  }
};

}  // namespace lwsvm::run
