#include "cli/run_result.h"

#include "net/evaluator.h"

namespace lwsvm::cli {

using nlohmann::json;

json quality_of(const Model& model, const Task& task, const Regulariser& regulariser,
                const Threads& threads) {
  Evaluator evaluator(model.graph, threads);
  const LossSums train = evaluator.evaluate(task.training, task.loss);
  json quality{{"objective", evaluator.objective(train, regulariser)},
               {"accuracy", train.accuracy()},
               {"train_accuracy", train.accuracy()}};
  if (task.validation.size() > 0)
    quality["val_accuracy"] = evaluator.evaluate(task.validation, task.loss).accuracy();
  if (task.test_part())
    quality["accuracy"] = quality["test_accuracy"] = evaluator.evaluate(task.test, task.loss).accuracy();
  return quality;
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
