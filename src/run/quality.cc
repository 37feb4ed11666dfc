#include "run/quality.h"

#include "base/interruptible_source.h"
#include "base/sample_part.h"
#include "net/evaluator.h"

namespace lwsvm::run {

namespace {

NetworkQuality evaluate_parts(const Model& model, const SampleSource& training,
                              const SampleSource& validating, const Loss& loss,
                              const Regulariser& regulariser, const Threads& threads, Team& team) {
  Evaluator evaluator(model.graph, threads, -1, -1, team);
  const LossSums train = evaluator.evaluate(training, loss);
  NetworkQuality quality;
  quality.objective = evaluator.objective(train, regulariser);
  quality.train_loss = train.mean_loss();
  quality.train_accuracy = train.accuracy();
  if (sum(team, validating.size()) > 0) {
    const LossSums validation = evaluator.evaluate(validating, loss);
    quality.val_accuracy = validation.accuracy();
    quality.val_loss = validation.mean_loss();
  }
  return quality;
}

}  // namespace

NetworkQuality evaluate_start(const Model& model, const SampleSource& training,
                              const SampleSource& validation, const Loss& loss,
                              const Regulariser& regulariser, const Threads& threads, Team& team) {
  constexpr const char* doing = "looking at the network as it is";
  return evaluate_parts(model, InterruptibleSource(training, doing), InterruptibleSource(validation, doing),
                        loss, regulariser, threads, team);
}

Quality with_test(const NetworkQuality& quality, const Model& model, const Task& task, const Threads& threads,
                  bool test, Team& team) {
  Quality result{quality.objective, quality.train_accuracy, {}, {}};
  if (task.validation.size() > 0) result.val_accuracy = quality.val_accuracy;
  if (test && task.test_part())
    result.test_accuracy = Evaluator(model.graph, threads, -1, -1, team)
                               .evaluate(SamplePart(task.test, team), task.loss)
                               .accuracy();
  return result;
}

Quality quality_of(const Model& model, const Task& task, const Regulariser& regulariser,
                   const Threads& threads) {
  return with_test(
      evaluate_parts(model, task.training, task.validation, task.loss, regulariser, threads, alone()), model,
      task, threads);
}

}  // namespace lwsvm::run

namespace lwsvm {

std::string to_string(const Quality& quality) {
  std::string line =
      fmt::format("objective {:.5f}  train {:.2f}%", quality.objective, 100 * quality.train_accuracy);
  if (quality.val_accuracy) line += fmt::format("  val {:.2f}%", 100 * *quality.val_accuracy);
  if (quality.test_accuracy) line += fmt::format("  test {:.2f}%", 100 * *quality.test_accuracy);
  return line;
}

}  // namespace lwsvm
