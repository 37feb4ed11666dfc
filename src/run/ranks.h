// A run on several ranks (base/team.h): what must be the same everywhere, and where their time went.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/team.h"
#include "model/model.h"
#include "run/task.h"

namespace lwsvm::run {

// Ranks that do not begin with the same program, settings, network and data would each compute something of
// their own: throws Error, on all of them, naming those that differ and in what.
void check_same_start(Team& team, const nlohmann::json& settings, const Model& model, const Task& task);
// The same of the weights, whenever they are judged: machines whose processors round differently drift apart.
void check_same_weights(Team& team, const Graph& graph);

// Who is there, rank by rank.
std::vector<std::string> names_of(Team& team);
// A record for the log: per rank, seconds of computing, exchanging and waiting, and bytes sent.
nlohmann::ordered_json times_record(Team& team);

}  // namespace lwsvm::run
