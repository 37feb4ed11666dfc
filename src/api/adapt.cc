#include "lwsvm/adapt.h"

#include <algorithm>

#include "api/move_callbacks.h"
#include "api/network_state.h"
#include "api/settings.h"
#include "base/units.h"
#include "run/adaptation_run.h"

namespace lwsvm {
namespace {

run::AdaptJob adapt_job_of(const AdaptSettings& settings) {
  run::AdaptJob job;
  job.task = task_options(settings.task);
  job.pixels = settings.pixels;
  job.depth = settings.depth;
  if (settings.lambda) job.lambda = fmt::format("{}", *settings.lambda);
  job.balance = settings.balance;
  job.keep_input = settings.keep_input;
  job.memory = std::to_string(settings.memory);
  job.time_limit = limit_text(settings.time_limit);
  job.half_features = settings.half_features;
  job.batch = settings.batch;
  job.seed = settings.seed;
  return job;
}

}  // namespace

AdaptSummary adapt(Network& network, const Data& data, const AdaptSettings& settings) {
  CallbackMessages messages(settings.on_message);
  MoveCallbacks callbacks(settings.on_progress, settings.on_update);
  run::AdaptJob job = adapt_job_of(settings);
  job.input = network.state().path;
  run::RunContext context{settings.threads, "", &messages, {&callbacks}};
  context.cache = settings.cache;
  context.cache_limit = settings.cache_limit;
  run::Adapted adapted = run::run_adaptation(std::move(job), context, run_input(network, data));
  network = network_of(adapted.model);
  return std::move(adapted.summary);
}

std::string AdaptSummary::report() const {
  return fmt::format(
      "last layer alone: {}\nin the end:       {}\n{} of its layers changed ({}); lambda {:.4g}, {}; {}\n",
      to_string(head), to_string(end), layers.size(), fmt::join(layers, ", "), lambda,
      format_duration(seconds), reason);
}

}  // namespace lwsvm
