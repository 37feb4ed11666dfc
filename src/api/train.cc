#include "lwsvm/train.h"

#include "api/network_state.h"
#include "api/settings.h"
#include "run/training_run.h"

namespace lwsvm {
namespace {

class TrainCallbacks final : public run::RunObserver {
 public:
  explicit TrainCallbacks(const TrainSettings& settings) : settings_(settings) {}

  void on_batch(int epoch, std::int64_t done, double running_loss) override {
    if (settings_.on_progress && !settings_.on_progress({epoch, done, running_loss})) stop_ = true;
  }
  void on_epoch(const EpochResult& result) override {
    if (!settings_.on_epoch) return;
    TrainEpoch epoch{result.epoch,     result.evaluated,      result.taken_back,
                     result.objective, result.train_accuracy, {},
                     result.seconds};
    if (result.val_accuracy >= 0) epoch.val_accuracy = result.val_accuracy;
    if (!settings_.on_epoch(epoch)) stop_ = true;
  }
  bool stop_requested() override { return stop_; }

 private:
  const TrainSettings& settings_;
  bool stop_ = false;
};

run::TrainJob job_of(const TrainSettings& settings) {
  run::TrainJob job;
  job.task = task_options(settings.task);
  job.task.loss = settings.loss;
  job.pixels = settings.pixels;
  job.arch = settings.arch;
  TrainOptions& train = job.train;
  train.solver = settings.solver;
  train.learning_rate = settings.learning_rate;
  if (settings.lambda) train.lambda = *settings.lambda;
  job.lambda_given = settings.lambda.has_value();
  train.schedule = settings.schedule;
  train.epochs = settings.epochs;
  train.time_limit = settings.time_limit;
  train.batch = settings.batch;
  train.eval_every = settings.eval_every;
  train.seed = settings.seed;
  return job;
}

}  // namespace

TrainSummary train(Network& network, const Data& data, const TrainSettings& settings) {
  CallbackMessages messages(settings.on_message);
  TrainCallbacks callbacks(settings);
  run::Trained trained = run::run_training(job_of(settings), {settings.threads, "", &messages, {&callbacks}},
                                           run_input(network, data));
  network = network_of(trained.model);
  return std::move(trained.summary);
}

}  // namespace lwsvm
