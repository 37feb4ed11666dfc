// What a network is worth on a task.
#pragma once

#include "engine/threads.h"
#include "lwsvm/evaluate.h"
#include "lwsvm/refine_observer.h"
#include "model/model.h"
#include "net/regulariser.h"
#include "run/task.h"

namespace lwsvm::run {

Quality quality_of(const Model& model, const Task& task, const Regulariser& regulariser,
                   const Threads& threads);
// All but the test part, of a network that nothing has been done to yet: throws Interrupted at Ctrl-C.
// The samples are this rank's parts.
NetworkQuality evaluate_start(const Model& model, const SampleSource& training,
                              const SampleSource& validation, const Loss& loss,
                              const Regulariser& regulariser, const Threads& threads, Team& team = alone());
// The same of a network whose quality is known but for the test part, which may be left out.
Quality with_test(const NetworkQuality& quality, const Model& model, const Task& task, const Threads& threads,
                  bool test = true, Team& team = alone());

}  // namespace lwsvm::run
