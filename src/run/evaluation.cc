#include "run/evaluation.h"

#include <cmath>

#include "base/error.h"
#include "model/onnx_reader.h"
#include "net/evaluator.h"
#include "run/centre.h"
#include "run/model_input.h"

namespace lwsvm::run {

EvaluateSummary run_evaluation(EvaluateJob job, const RunContext& context, RunInput input) {
  Model model = input.model ? std::move(*input.model) : read_onnx(job.model, job.output_name);
  // The objective is that of the network's training, unless another loss is asked for.
  if (const auto known = model.info.metadata.find("lwsvm.loss");
      known != model.info.metadata.end() && !job.loss_given)
    job.task.loss = known->second;
  if (!context.data_dir.empty()) job.task.data_dir = context.data_dir;
  const Task task(job.task, &model.info, std::move(input.data));
  const SampleView& samples = task.part(job.split);
  const Threads threads = start_threads(context.threads, *context.messages);
  fit_input(model, job.normalize, task.data, threads, *context.messages);
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
  summary.data = task.data.name;
  return summary;
}

}  // namespace lwsvm::run
