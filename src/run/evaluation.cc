#include "run/evaluation.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "net/evaluator.h"
#include "run/centre.h"
#include "run/model_input.h"

namespace lwsvm::run {
namespace {

// The objective is that of the network's training, unless another loss is asked for.
TaskOptions task_of(const EvaluateJob& job, const RunContext& context, const ModelInfo& info) {
  TaskOptions task = job.task;
  if (const auto known = info.metadata.find("lwsvm.loss"); known != info.metadata.end() && !job.loss_given)
    task.loss = known->second;
  if (!context.data_dir.empty()) task.data_dir = context.data_dir;
  return task;
}

// A network that fits the samples it is to be judged on.
struct Subject {
  Model model;
  Task task;
  const SampleView& samples;
  Threads threads;

  Subject(const EvaluateJob& job, const RunContext& context, RunInput input)
      : model(given(input)),
        task(task_of(job, context, model.info), &model.info,
             input.data ? std::move(input.data)
                        : load_for(&model, task_of(job, context, model.info), context)),
        samples(task.part(job.split)),
        threads(start_threads(context.threads, *context.messages)) {
    fit_input(model, job.pixels, task.data, threads, *context.messages);
  }

  static Model given(RunInput& input) {
    LWSVM_CHECK(input.model.has_value());
    return std::move(*input.model);
  }
};

}  // namespace

EvaluateSummary run_evaluation(const EvaluateJob& job, const RunContext& context, RunInput input) {
  const Subject subject(job, context, std::move(input));
  const auto& [model, task, samples, threads] = subject;
  const LossSums sums = Evaluator(model.graph, threads).evaluate(samples, task.loss);
  if (!std::isfinite(sums.mean_loss()))
    fail("eval",
         "{}: the loss on the {} samples of {} is not a finite number: activations or scores are too large "
         "for float32; check how the pixels are normalised (--normalize, --scale)",
         job.model.empty() ? "the network" : job.model, job.split, task.data.name);
  EvaluateSummary summary;
  summary.lambda = job.lambda.value_or(model.info.lambda.value_or(0.0));
  summary.regulariser = regulariser_in_file(model, job.model, summary.lambda, job.centre, *context.messages);
  summary.loss = sums.mean_loss();
  summary.objective = summary.regulariser + summary.loss;
  summary.accuracy = sums.accuracy();
  summary.samples = sums.samples;
  summary.correct = sums.correct;
  return summary;
}

std::vector<float> run_scores(const EvaluateJob& job, const RunContext& context, RunInput input) {
  const Subject subject(job, context, std::move(input));
  const std::int64_t classes = class_count(subject.model.graph);
  std::vector<float> scores(static_cast<std::size_t>(subject.samples.size() * classes));
  Evaluator(subject.model.graph, subject.threads)
      .for_scores(subject.samples, [&](std::int64_t first, std::int64_t count, const float* rows) {
        std::copy_n(rows, count * classes, scores.begin() + first * classes);
      });
  return scores;
}

}  // namespace lwsvm::run
