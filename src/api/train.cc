#include "lwsvm/train.h"

#include "api/network_state.h"
#include "api/settings.h"
#include "run/callbacks.h"
#include "run/training_run.h"

namespace lwsvm {
namespace {

run::TrainJob job_of(const TrainSettings& settings, const RunFiles& files = {}) {
  run::TrainJob job;
  take_files(files, job);
  job.init = files.network;
  job.task = task_options(settings.task, files.data);
  job.task.loss = settings.loss;
  job.pixels = settings.pixels;
  job.arch = settings.arch;
  job.time_limit = settings.time_limit.text();
  TrainOptions& train = job.train;
  train.solver = settings.solver;
  train.learning_rate = settings.learning_rate;
  if (settings.lambda) train.lambda = *settings.lambda;
  job.lambda_given = settings.lambda.has_value();
  train.schedule = settings.schedule;
  train.epochs = settings.epochs;
  train.batch = settings.batch;
  train.eval_every = settings.eval_every;
  train.seed = settings.seed;
  return job;
}

TrainSummary run_files(run::TrainJob job, const RunFiles& files, const TrainSettings& settings) {
  CallbackMessages messages(settings.on_message, files.on_work);
  run::TrainCallbacks callbacks(settings);
  return run::run_training(std::move(job), context_of(files.data, settings.threads, messages, {&callbacks}))
      .summary;
}

}  // namespace

TrainSummary train(Network& network, const Data& data, const TrainSettings& settings) {
  CallbackMessages messages(settings.on_message);
  run::TrainCallbacks callbacks(settings);
  run::Trained trained = run::run_training(job_of(settings), {settings.threads, "", &messages, {&callbacks}},
                                           run_input(network, data));
  network = network_of(trained.model);
  return std::move(trained.summary);
}

TrainSummary train(const RunFiles& files, const TrainSettings& settings) {
  return run_files(job_of(settings, files), files, settings);
}

TrainSummary resume_train(const std::string& run_folder, const TrainSettings& settings,
                          const GivenAnew& given, const RunFiles& files) {
  run::TrainJob job = job_of(settings, files);
  resume(run_folder, given, job);
  return run_files(std::move(job), files, settings);
}

}  // namespace lwsvm
