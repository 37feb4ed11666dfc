#include "lwsvm/adapt.h"

#include <algorithm>

#include "api/network_state.h"
#include "api/settings.h"
#include "base/units.h"
#include "run/adaptation_run.h"
#include "run/callbacks.h"

namespace lwsvm {
namespace {

run::AdaptJob adapt_job_of(const AdaptSettings& settings, const RunFiles& files = {}) {
  run::AdaptJob job;
  take_files(files, job);
  job.input = files.network;
  job.task = task_options(settings.task, files.data);
  job.pixels = settings.pixels;
  job.depth = settings.depth;
  if (settings.lambda) job.lambda = fmt::format("{}", *settings.lambda);
  job.balance = settings.balance;
  job.keep_input = settings.keep_input;
  job.memory = settings.memory.text();
  job.time_limit = settings.time_limit.text();
  job.half_features = settings.half_features;
  job.batch = settings.batch;
  job.seed = settings.seed;
  return job;
}

AdaptSummary run_files(run::AdaptJob job, const RunFiles& files, const AdaptSettings& settings) {
  CallbackMessages messages(settings.on_message, files.on_work);
  run::MoveCallbacks callbacks(settings);
  run::RunContext context = context_of(files.data, settings.threads, messages, {&callbacks});
  context.cache = settings.cache;
  context.cache_limit = settings.cache_limit;
  return run::run_adaptation(std::move(job), context).summary;
}

}  // namespace

AdaptSummary adapt(Network& network, const Data& data, const AdaptSettings& settings) {
  CallbackMessages messages(settings.on_message);
  run::MoveCallbacks callbacks(settings);
  run::AdaptJob job = adapt_job_of(settings);
  job.input = network.state().path;
  run::RunContext context{settings.threads, "", &messages, {&callbacks}};
  context.cache = settings.cache;
  context.cache_limit = settings.cache_limit;
  run::Adapted adapted = run::run_adaptation(std::move(job), context, run_input(network, data));
  network = network_of(adapted.model);
  return std::move(adapted.summary);
}

AdaptSummary adapt(const RunFiles& files, const AdaptSettings& settings) {
  return run_files(adapt_job_of(settings, files), files, settings);
}

AdaptSummary resume_adapt(const std::string& run_folder, const AdaptSettings& settings,
                          const GivenAnew& given, const RunFiles& files) {
  run::AdaptJob job = adapt_job_of(settings, files);
  resume(run_folder, given, job);
  return run_files(std::move(job), files, settings);
}

std::string AdaptSummary::report() const {
  return fmt::format(
      "last layer alone: {}\nin the end:       {}\n{} of its layers changed ({}); lambda {:.4g}, {}; {}\n",
      to_string(head), to_string(end), layers.size(), fmt::join(layers, ", "), lambda,
      format_duration(seconds), reason);
}

}  // namespace lwsvm
