// What a run of train or refine comes to: the object that --json prints, the last record of its log.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/threads.h"
#include "lwsvm/refine_observer.h"
#include "model/model.h"
#include "net/regulariser.h"
#include "report/run_log.h"
#include "run/task.h"

namespace lwsvm::cli {

struct RunResult {
  nlohmann::json values;
  bool over = true;   // false: stopped by Ctrl-C, and may be resumed
  int exit_code = 0;  // of the program
};

// Objective and accuracies: {"objective", "train_accuracy", "val_accuracy" and "test_accuracy" where there is
// such a part, "accuracy": that of the test part, else of the training part}.
nlohmann::json quality_of(const Model& model, const Task& task, const Regulariser& regulariser,
                          const Threads& threads);
// All but the test part, of a network that nothing has been done to yet: throws Interrupted at Ctrl-C.
NetworkQuality evaluate_start(const Model& model, const SampleSource& training,
                              const SampleSource& validation, const Loss& loss,
                              const Regulariser& regulariser, const Threads& threads);
// The same of a network whose quality is known but for the test part, which may be left out.
nlohmann::json with_test(const NetworkQuality& quality, const Model& model, const Task& task,
                         const Threads& threads, bool test = true);
std::string quality_line(const nlohmann::json& quality);  // "objective 0.05850  train 99.29%  ..."

// {"type": "end", ...}: the run is over. It lies behind the last checkpoint, so that a run that is resumed
// after its end cuts it off and writes it again.
void write_end(RunLog& log, const nlohmann::json& result);

}  // namespace lwsvm::cli
