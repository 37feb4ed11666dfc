// lwsvm eval: loss, objective and accuracy of a network on a data set.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "model/onnx_reader.h"
#include "net/evaluator.h"
#include "report/json_text.h"
#include "run/centre.h"
#include "run/model_input.h"
#include "run/task.h"

namespace lwsvm::cli {
namespace {

struct EvalCommand {
  TaskOptions task;
  NormalizeOptions normalize;
  std::string model;
  std::string split = "test";
  double lambda = -1;  // that of the network
  std::string centre;  // empty: that of the network
  std::string output_name;
  bool loss_given = false;
};

int eval(const Common& common, EvalCommand command) {
  Terminal terminal(stderr, common.quiet);
  Model model = read_onnx(command.model, command.output_name);
  // The objective is that of the network's training, unless another loss is asked for.
  if (const auto known = model.info.metadata.find("lwsvm.loss");
      known != model.info.metadata.end() && !command.loss_given)
    command.task.loss = known->second;
  command.task.data_dir = common.data_dir;
  const Task task(command.task, &model.info);
  const SampleView& samples = task.part(command.split);
  const Threads threads = start_threads(common, terminal);
  fit_input(model, command.normalize, task.data, threads, terminal);
  Evaluator evaluator(model.graph, threads);
  const LossSums sums = evaluator.evaluate(samples, task.loss);
  if (!std::isfinite(sums.mean_loss()))
    fail("eval",
         "{}: the loss on the {} samples of {} is not a finite number: activations or scores are too large "
         "for float32; check how the pixels are normalised (--normalize, --scale)",
         command.model, command.split, task.data.name);
  const double lambda = command.lambda >= 0 ? command.lambda : model.info.lambda.value_or(0.0);
  const double regulariser = regulariser_in_file(model, command.model, lambda, command.centre, terminal);
  const double objective = regulariser + sums.mean_loss();
  if (common.json) {
    const nlohmann::ordered_json result{{"objective", objective},     {"accuracy", sums.accuracy()},
                                        {"loss", sums.mean_loss()},   {"lambda", lambda},
                                        {"regulariser", regulariser}, {"samples", sums.samples},
                                        {"correct", sums.correct},    {"split", command.split},
                                        {"data", task.data.name},     {"model", command.model}};
    fmt::print("{}\n", json_text(result));
  } else {
    fmt::print("{} on {} {}: accuracy {:.2f}% ({} of {}), loss {:.5f}, objective {:.5f} (lambda {})\n",
               command.model, task.data.name, command.split, 100 * sums.accuracy(), sums.correct,
               sums.samples, sums.mean_loss(), objective, lambda);
  }
  return done;
}

}  // namespace

void add_eval(CLI::App& app, Common& common) {
  auto command = std::make_shared<EvalCommand>();
  CLI::App* sub = app.add_subcommand("eval", "loss, objective and accuracy of a network on a data set");
  sub->add_option("model", command->model, "ONNX file")->required();
  add_output_name_option(*sub, command->output_name);
  command->task.add_to(*sub);
  command->task.add_loss_to(*sub);
  command->normalize.add_to(*sub);
  command->normalize.add_guess_to(*sub);
  sub->add_option("--split", command->split, "test, train or val")->capture_default_str();
  sub->add_option("--lambda", command->lambda,
                  "weight of the regulariser in the objective (default: the network's)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option(
      "--centre", command->centre,
      "where the regulariser is centred: zero, or the ONNX file that the network was refined from "
      "(default: as the network's file remembers)");
  add_common_options(*sub, common);
  sub->callback([command, sub, &common] {
    command->loss_given = sub->count("--loss") > 0;
    common.exit_code = eval(common, *command);
  });
}

}  // namespace lwsvm::cli
