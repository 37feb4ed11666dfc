// What `lwsvm refine` decides by looking at the network: which layers it opens, and with which lambda.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/messages.h"
#include "base/team.h"
#include "engine/threads.h"
#include "model/model.h"
#include "run/refine_job.h"
#include "run/task.h"

namespace lwsvm::run {

// The layers to open: those named, with * and ? as in a shell, or all that can be opened and written back; of
// others, why not.
std::vector<int> chosen_layers(const std::string& text, const Model& model, Messages& terminal);

// How many where neither they nor the time are limited: ten, or with few samples as many as sweeps need to
// get somewhere.
int usual_passes(const Graph& graph, const RefineOptions& options, std::int64_t samples);

// A number, or none where it is to be chosen. Throws Error.
std::optional<double> given_lambda(const char* place, const std::string& text);

// As given; searched for --lambda auto; the network's own, if that was for the same kind of centre; or, where
// the file says nothing, one that fits what the network is worth at the start. Layers and centre are those
// of the options.
double lambda_for(const RefineJob& settings, Model& model, const RefineOptions& options, bool at_start,
                  const NetworkQuality& start, const Task& task, const Threads& threads, Messages& terminal,
                  Team& team);

}  // namespace lwsvm::run
