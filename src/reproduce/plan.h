// What `lwsvm reproduce` runs: an experiment of the paper as parts, each a run folder of its own.
//
//   pretrain-S     CIFAR only: 10 epochs of softmax cross-entropy with the solver S
//   S              S for the paper's number of epochs
//   S-longer       the same run, extended
//   S-lwsvm        LW-SVM from S's network
//   S-lwsvm-paper  the same, as published
//
// and for `failures` [BZK17, Appendix "Failures to Learn"], in each of its two CASEs:
//
//   CASE-S         S from random weights
//   CASE-S-lwsvm   LW-SVM from what S came to
//   CASE-start     the random weights
//   CASE-lwsvm     LW-SVM from these
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reproduce/paper_tables.h"
#include "run/refine_job.h"
#include "run/train_job.h"

namespace lwsvm::reproduce {

using run::RefineJob;
using run::TrainJob;

struct ReproduceOptions {
  std::string experiment;  // one of experiment_names()
  std::string scale = "full";
  std::string solvers = "adagrad,adadelta,adam";
  std::string out;  // empty: reproduce/EXPERIMENT
  // In place of the paper's:
  std::optional<int> epochs, longer, passes;
  std::string data, arch, layers, time_limit;
};

struct Part {
  std::string name;      // also that of its folder
  std::string from;      // the part whose network it starts from; empty: none
  bool extends = false;  // begins as a copy of the run `from`
  std::variant<TrainJob, RefineJob> job;
};

struct Row {
  std::string label;  // "Adadelta (100) + LW-SVM"
  std::string part;
  std::string solver_part;  // of a refined network: the part whose time comes first; else empty
  std::optional<PaperRow> paper;
  bool group_ends = false;
};

struct Plan {
  ReproduceOptions options;  // with `out` and `data`
  std::vector<Part> parts;   // in the order in which they run
  std::vector<Row> rows;
  std::string title, caption;
  std::string citation;  // empty: the paper has no such figures
  std::string time_unit = "s";
};

const std::vector<std::string>& experiment_names();

// Folders are absolute, so that a part may be resumed from anywhere. Throws Error on an unknown experiment,
// scale or solver.
Plan make_plan(ReproduceOptions options);

}  // namespace lwsvm::reproduce
