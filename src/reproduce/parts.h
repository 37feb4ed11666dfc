// Runs the parts of a plan, each once: a finished one is only read, a begun one resumed.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lwsvm/evaluate.h"
#include "reproduce/plan.h"
#include "run/run_context.h"

namespace lwsvm::reproduce {

// What a finished part came to.
struct PartResult {
  Quality end;
  std::optional<Quality> start;  // of a refinement
  double seconds = 0;
  std::string time_limit;  // if the time was up: what it was
  nlohmann::json record;   // all that its log says, for results.json
};

// What the part's log says in its `end` record, if its run is over, is of these settings and has left its
// network after; else nothing. Throws Error, with a remedy, if the folder holds a run of other settings.
//
// Paths may differ (a folder may be moved), and so may how often a run was evaluated, which changes no
// number. A refinement whose time was up is not over if the part now gives it more.
std::optional<PartResult> finished_result(const Part& part);

// Begins the part or goes on with it. What its `end` record says, or nothing if it was stopped before.
std::optional<PartResult> run_part(const run::RunContext& context, const Plan& plan, const Part& part);

// Throws Error, with a remedy, if a refined network's result says that it began from another network than the
// one that came to `start`: that of a run which has since been replaced.
void check_start(const Part& part, const PartResult& result, const PartResult& start);

// Version and machine of the part's run, as its log says: {"version", "cpu", "cores"}.
nlohmann::json made_by(const Part& part);

// The settings that decide the result of a part: those of its run folder, but for paths.
nlohmann::json comparable_settings(const Part& part);

}  // namespace lwsvm::reproduce
