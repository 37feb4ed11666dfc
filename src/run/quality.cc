#include "run/quality.h"

#include "base/interruptible_source.h"
#include "net/evaluator.h"

namespace lwsvm::cli {

using nlohmann::json;

namespace {

NetworkQuality evaluate_parts(const Model& model, const SampleSource& training,
                              const SampleSource& validating, const Loss& loss,
                              const Regulariser& regulariser, const Threads& threads) {
  Evaluator evaluator(model.graph, threads);
  const LossSums train = evaluator.evaluate(training, loss);
  NetworkQuality quality;
  quality.objective = evaluator.objective(train, regulariser);
  quality.train_loss = train.mean_loss();
  quality.train_accuracy = train.accuracy();
  if (validating.size() > 0) {
    const LossSums validation = evaluator.evaluate(validating, loss);
    quality.val_accuracy = validation.accuracy();
    quality.val_loss = validation.mean_loss();
  }
  return quality;
}

}  // namespace

NetworkQuality evaluate_start(const Model& model, const SampleSource& training,
                              const SampleSource& validation, const Loss& loss,
                              const Regulariser& regulariser, const Threads& threads) {
  constexpr const char* doing = "looking at the network as it is";
  return evaluate_parts(model, InterruptibleSource(training, doing), InterruptibleSource(validation, doing),
                        loss, regulariser, threads);
}

json with_test(const NetworkQuality& quality, const Model& model, const Task& task, const Threads& threads,
               bool test) {
  json values{{"objective", quality.objective},
              {"accuracy", quality.train_accuracy},
              {"train_accuracy", quality.train_accuracy}};
  if (task.validation.size() > 0) values["val_accuracy"] = quality.val_accuracy;
  if (test && task.test_part())
    values["accuracy"] = values["test_accuracy"] =
        Evaluator(model.graph, threads).evaluate(task.test, task.loss).accuracy();
  return values;
}

json quality_of(const Model& model, const Task& task, const Regulariser& regulariser,
                const Threads& threads) {
  return with_test(evaluate_parts(model, task.training, task.validation, task.loss, regulariser, threads),
                   model, task, threads);
}

std::string quality_line(const json& quality) {
  std::string line = fmt::format("objective {:.5f}", quality.at("objective").get<double>());
  for (const char* part : {"train", "val", "test"})
    if (const auto found = quality.find(fmt::format("{}_accuracy", part)); found != quality.end())
      line += fmt::format("  {} {:.2f}%", part, 100 * found->get<double>());
  return line;
}

void write_end(RunLog& log, const json& result) {
  nlohmann::ordered_json record{{"type", "end"}};
  record.update(result);
  log.write(record);
}

}  // namespace lwsvm::cli
