#include "lwsvm/svm.h"

#include "api/network_state.h"
#include "api/settings.h"
#include "run/svm_run.h"

namespace lwsvm {
namespace {

run::SvmJob job_of(const SvmSettings& settings) {
  run::SvmJob job;
  job.source.validation = settings.task.validation;
  job.source.split_seed = settings.task.split_seed.value_or(0);
  job.margins = settings.task.margins;
  job.pixels = settings.pixels;
  job.solver.lambda = settings.lambda;
  job.solver.relative_gap = settings.gap;
  job.solver.max_epochs = settings.max_epochs;
  job.solver.batch_size = settings.batch;
  job.solver.seed = settings.seed;
  return job;
}

}  // namespace

SvmSummary train_svm(Network& network, const Data& data, const SvmSettings& settings) {
  CallbackMessages messages(settings.on_message);
  run::TrainedSvm trained = run::run_svm(job_of(settings), {settings.threads, "", &messages, {}},
                                         settings.on_progress, {true, {}, data.set()});
  network = network_of(trained.model);
  return std::move(trained.summary);
}

}  // namespace lwsvm
