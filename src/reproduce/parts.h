// Runs the parts of a plan, each once: a finished one is only read, a begun one resumed.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "reproduce/plan.h"
#include "run/run_context.h"

namespace lwsvm::reproduce {

// What the part's log says in its `end` record, if its run is over, is of these settings and has left its
// network after; else nothing. Throws Error, with a remedy, if the folder holds a run of other settings.
//
// Paths may differ (a folder may be moved), and so may how often a run was evaluated, which changes no
// number. A refinement whose time was up is not over if the part now gives it more.
std::optional<nlohmann::json> finished_result(const Part& part);

// Begins the part or goes on with it. What its `end` record says, or nothing if it was stopped before.
std::optional<nlohmann::json> run_part(const run::RunContext& context, const Plan& plan, const Part& part);

// Throws Error, with a remedy, if a refined network's result says that it began from another network than the
// one that came to `start`: that of a run which has since been replaced.
void check_start(const Part& part, const nlohmann::json& result, const nlohmann::json& start);

// Version and machine of the part's run, as its log says: {"version", "cpu", "cores"}.
nlohmann::json made_by(const Part& part);

// The settings that decide the result of a part: those of its run folder, but for paths.
nlohmann::json comparable_settings(const Part& part);

}  // namespace lwsvm::reproduce
