// lwsvm train: trains a network from scratch or from a file with a classic solver.
#include "cli/commands.h"
#include "model/arch.h"
#include "report/json_text.h"
#include "run/run_folder.h"
#include "run/training_run.h"

namespace lwsvm::cli {
namespace {

int train(const Common& common, const TrainSettings& settings) {
  Terminal terminal(stderr, common.quiet);
  const RunResult result = run_training(common, settings, terminal);
  if (common.json)
    fmt::print("{}\n", json_text(result.values));
  else
    fmt::print("{}  -> {}\n", quality_line(result.values), result.values["model"].get<std::string>());
  return result.exit_code;
}

}  // namespace

void add_train(CLI::App& app, Common& common) {
  auto settings = std::make_shared<TrainSettings>();
  CLI::App* sub =
      app.add_subcommand("train", "train a network with Adam, Adadelta, Adagrad or Nesterov momentum");
  sub->footer(
      "Minimises  F = lambda/2 sum_l ||w_l||^2 + 1/N sum_i loss_i.  Stops after --epochs, or at Ctrl-C with "
      "what it has.\n\n" +
      arch_grammar());
  settings->task.add_to(*sub);
  settings->task.add_loss_to(*sub);
  settings->task.add_augment_to(*sub);
  settings->normalize.add_to(*sub);
  settings->normalize.add_guess_to(*sub);
  settings->normalize.add_per_pixel_to(*sub);
  CLI::Option* arch =
      sub->add_option("--arch", settings->arch, "network to build: a name or a string, see below")
          ->capture_default_str();
  sub->add_option("--init", settings->init, "start from this ONNX file instead")->excludes(arch);
  add_output_name_option(*sub, settings->output_name);
  sub->add_option("-o,--output", settings->output,
                  "ONNX file to write (default: ARCH-DATA.onnx, or in the run folder)");
  sub->add_option("--solver", settings->train.solver,
                  "dfw (Deep Frank-Wolfe: no learning rate), adam, adadelta, adagrad or nesterov")
      ->capture_default_str();
  sub->add_option("--lr", settings->train.learning_rate,
                  "learning rate (default: adagrad 0.01, adadelta 1, adam 0.001, nesterov 0.01)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--lambda", settings->train.lambda,
                  "weight of the regulariser (default: 0.001, or that of --init)")
      ->check(CLI::NonNegativeNumber)
      ->each([settings](const std::string&) { settings->lambda_given = true; });
  sub->add_option("--epochs", settings->train.epochs, "passes over the training part")->capture_default_str();
  sub->add_option(
         "--schedule", settings->train.schedule,
         "of the learning rate: constant, or cosine (falls to 0 at the end of the epochs or the time)")
      ->capture_default_str();
  sub->add_option("--time-limit", settings->time_limit,
                  "of the training itself, such as 10m or 1h30m; the network so far is written");
  sub->add_option("--batch", settings->train.batch, "samples a step")->capture_default_str();
  sub->add_option("--eval-every", settings->train.eval_every, "epochs between evaluations of the objective")
      ->capture_default_str();
  sub->add_option("--seed", settings->train.seed, "seed of initial weights, batch order and dropout")
      ->check(whole_number())
      ->capture_default_str();
  CLI::Option* run = sub->add_option("--run", settings->run_folder, "folder for log.jsonl and checkpoints");
  sub->add_option(
         "--resume", settings->resume_folder,
         "go on with the run in this folder, with its settings; --epochs, --eval-every, --time-limit and "
         "-o may be given anew, and more --epochs than it had extend it to the bits of a run of that length")
      ->check(CLI::ExistingDirectory)
      ->excludes(run);
  add_common_options(*sub, common);
  sub->callback([settings, sub, &common] {
    settings->given = given_options(*sub);
    common.exit_code = train(common, *settings);
  });
}

}  // namespace lwsvm::cli
