// The results that the paper reports, as it prints them, to set beside our own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lwsvm::reproduce {

enum class PaperRun { solver, longer, lwsvm };

struct PaperRow {
  std::string solver;
  PaperRun run;
  int epochs;              // of the solver
  double objective;        // on the training part
  double train_accuracy;   // in percent, like the other
  double time;             // of the solver, in the table's unit, on an Nvidia Titan X
  double refinement_time;  // of LW-SVM, to be added; 0 in rows without
  double test_accuracy;
};

struct PaperTable {
  std::string experiment;  // mnist, cifar10, cifar100
  std::string citation;    // [BZK17, Table 1]
  std::string time_unit;   // s or h
  std::vector<PaperRow> rows;

  const PaperRow* find(std::string_view solver, PaperRun run) const;  // null if there is none
};

const PaperTable* paper_table(std::string_view experiment);  // null if the paper has none

}  // namespace lwsvm::reproduce
