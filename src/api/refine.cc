#include "lwsvm/refine.h"

#include <algorithm>

#include "api/network_state.h"
#include "api/settings.h"
#include "base/units.h"
#include "report/table.h"
#include "run/callbacks.h"
#include "run/refinement_run.h"

namespace lwsvm {
namespace {

run::RefineJob job_of(const RefineSettings& settings, const RunFiles& files = {}) {
  run::RefineJob job;
  take_files(files, job);
  job.input = files.network;
  job.task = task_options(settings.task, files.data);
  job.pixels = settings.pixels;
  job.layers = settings.layers;
  if (settings.search_lambda)
    job.lambda = "auto";
  else if (settings.lambda)
    job.lambda = fmt::format("{}", *settings.lambda);
  job.centre = settings.centre;
  job.moves = settings.moves;
  job.search = settings.search;
  job.keep = settings.keep;
  job.mode = settings.mode;
  job.memory = settings.memory.text();
  job.time_limit = settings.time_limit.text();
  job.refine.mu = settings.mu;
  job.refine.passes = settings.passes;
  job.refine.patience = settings.patience;
  job.refine.gap = settings.gap;
  job.refine.max_epochs = settings.max_epochs;
  job.refine.batch = settings.batch;
  job.refine.seed = settings.seed;
  return job;
}

RefineSummary run_files(run::RefineJob job, const RunFiles& files, const RefineSettings& settings) {
  CallbackMessages messages(settings.on_message, files.on_work);
  run::MoveCallbacks callbacks(settings);
  run::RunContext context = context_of(files.data, settings.threads, messages, {&callbacks});
  if (files.team) context.team = files.team;
  return run::run_refinement(std::move(job), context).summary;
}

}  // namespace

RefineSummary refine(Network& network, const Data& data, const RefineSettings& settings) {
  CallbackMessages messages(settings.on_message);
  run::MoveCallbacks callbacks(settings);
  run::RefineJob job = job_of(settings);
  job.input = network.state().path;
  run::Refined refined = run::run_refinement(std::move(job), {settings.threads, "", &messages, {&callbacks}},
                                             run_input(network, data));
  network = network_of(refined.model);
  return std::move(refined.summary);
}

RefineSummary refine(const RunFiles& files, const RefineSettings& settings) {
  return run_files(job_of(settings, files), files, settings);
}

RefineSummary resume_refine(const std::string& run_folder, const RefineSettings& settings,
                            const GivenAnew& given, const RunFiles& files) {
  run::RefineJob job = job_of(settings, files);
  resume(run_folder, given, job);
  return run_files(std::move(job), files, settings);
}

std::string RefineSummary::brief_report() const {
  return fmt::format("objective {:.5f} -> {:.5f} in {} moves ({} rejected) and {}; {}", start.objective,
                     end.objective, moves, rejected, format_duration(seconds), reason);
}

std::string RefineSummary::full_report() const {
  Table table({"pass", "move", "form", "objective before", "after", "val", "time", "outcome"});
  for (const RefineUpdate& u : updates)
    table.add({std::to_string(u.pass), u.layer, u.form, fmt::format("{:.5f}", u.before),
               fmt::format("{:.5f}", u.after),
               u.val_accuracy ? fmt::format("{:.2f}%", 100 * *u.val_accuracy) : "",
               format_duration(u.seconds), u.accepted ? u.reason : "rejected: " + u.reason});
  return fmt::format(
      "start:  {}\n{}end:    {}\nlambda {:.4g} around {}; {} moves, {} rejected, {} rises, {} passes, "
      "{}\n{}; "
      "{}\n",
      to_string(start), updates.empty() ? "" : table.str(), to_string(end), lambda,
      centre == "start" ? "the start" : centre, moves, rejected, rises, passes, format_duration(seconds),
      reason, kept);
}

}  // namespace lwsvm
