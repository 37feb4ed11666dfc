#include "lwsvm/adapt.h"

#include <algorithm>

#include "api/network_state.h"
#include "api/settings.h"
#include "base/units.h"
#include "run/adaptation_run.h"
#include "run/refinement_run.h"

namespace lwsvm {
namespace {

class AdaptCallbacks final : public run::RunObserver {
 public:
  explicit AdaptCallbacks(const AdaptSettings& settings) : settings_(settings) {}

  void on_open(int pass, const std::string& layer) override {
    now_ = {};
    now_.pass = pass;
    now_.layer = layer;
    tell();
  }
  void on_solve(const SolveProgress& progress, double /*seconds*/) override {
    now_.epoch = progress.epoch;
    now_.primal = progress.primal;
    now_.dual = progress.dual;
    now_.gap = progress.gap;
    tell();
  }
  void on_sweep(const SweepProgress& progress) override {
    now_.fraction = progress.fraction;
    tell();
  }
  void on_update(const LayerUpdate& update, double /*seconds*/) override {
    if (settings_.on_update && !settings_.on_update(run::to_public(update))) stop_ = true;
  }
  bool stop_requested() override { return stop_; }

 private:
  void tell() {
    if (settings_.on_progress && !settings_.on_progress(now_)) stop_ = true;
  }

  const AdaptSettings& settings_;
  RefineProgress now_;
  bool stop_ = false;
};

run::AdaptJob adapt_job_of(const AdaptSettings& settings) {
  run::AdaptJob job;
  job.task = task_options(settings.task);
  job.pixels = settings.pixels;
  job.depth = settings.depth;
  if (settings.lambda) job.lambda = fmt::format("{}", *settings.lambda);
  job.balance = settings.balance;
  job.keep_input = settings.keep_input;
  job.memory = std::to_string(settings.memory);
  if (settings.time_limit > 0) job.time_limit = fmt::format("{:.3f}s", std::max(settings.time_limit, 0.001));
  job.half_features = settings.half_features;
  job.batch = settings.batch;
  job.seed = settings.seed;
  return job;
}

}  // namespace

AdaptSummary adapt(Network& network, const Data& data, const AdaptSettings& settings) {
  CallbackMessages messages(settings.on_message);
  AdaptCallbacks callbacks(settings);
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
