#include "lwsvm/evaluate.h"

#include "api/network_state.h"
#include "api/settings.h"
#include "run/evaluation.h"

namespace lwsvm {
namespace {

run::EvaluateJob job_of(const Network& network, const EvaluateSettings& settings) {
  run::EvaluateJob job;
  job.task = task_options(settings.task);
  job.loss_given = !settings.loss.empty();
  if (job.loss_given) job.task.loss = settings.loss;
  job.pixels = settings.pixels;
  job.model = network.state().path;
  job.split = settings.part;
  job.dense = settings.dense;
  job.task.data = settings.photos;
  job.lambda = settings.lambda;
  job.centre = settings.centre;
  return job;
}

}  // namespace

EvaluateSummary evaluate(const Network& network, const Data& data, const EvaluateSettings& settings) {
  CallbackMessages messages(settings.on_message);
  return run::run_evaluation(job_of(network, settings), {settings.threads, "", &messages, {}},
                             run_input(network, data));
}

std::vector<float> scores(const Network& network, const Data& data, const EvaluateSettings& settings) {
  CallbackMessages messages(settings.on_message);
  return run::run_scores(job_of(network, settings), {settings.threads, "", &messages, {}},
                         run_input(network, data));
}

}  // namespace lwsvm
