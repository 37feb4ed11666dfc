// lwsvm train: trains a network from scratch or from a file with a classic solver.
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/run_display.h"
#include "lwsvm/train.h"
#include "report/json_text.h"
#include "report/result_json.h"

namespace lwsvm::cli {
namespace {

struct TrainCommand {
  RunFiles files;
  RunOptions run;
  TrainSettings settings;
};

// NOLINTNEXTLINE(performance-unnecessary-value-param): changed through its parts
int run_train(const Common& common, TrainCommand command) {
  const InterruptGuard guard;
  Terminal terminal(stderr, common.quiet);
  RunDisplay display(terminal);
  auto& [files, run, settings] = command;
  connect(common, terminal, display, files, settings);
  const TrainSummary summary =
      run.resume.empty() ? train(files, settings) : resume_train(run.resume, settings, run.given, files);
  if (common.json)
    fmt::print("{}\n", json_text(nlohmann::json(summary)));
  else
    fmt::print("{}  -> {}\n", to_string(summary.end), summary.model);
  return summary.finished ? done : interrupt_exit_code();
}

}  // namespace

Command add_train(CLI::App& app, Common& common) {
  auto command = std::make_shared<TrainCommand>();
  TrainSettings& settings = command->settings;
  CLI::App* sub =
      app.add_subcommand("train", "train a network with Adam, Adadelta, Adagrad or Nesterov momentum");
  sub->footer(
      "Minimises  F = lambda/2 sum_l ||w_l||^2 + 1/N sum_i loss_i.  Stops after --epochs, or at Ctrl-C with "
      "what it has.\n\n" +
      arch_grammar());
  add_task_options(*sub, command->files.data, settings.task, common);
  add_loss_option(*sub, settings.loss);
  add_augment_option(*sub, settings.task);
  add_normalize_options(*sub, settings.pixels);
  add_anyway_option(*sub, settings.pixels);
  add_per_pixel_option(*sub, settings.pixels);
  CLI::Option* arch =
      sub->add_option("--arch", settings.arch, "network to build: a name or a string, see below")
          ->capture_default_str();
  sub->add_option("--init", command->files.network, "start from this ONNX file instead")->excludes(arch);
  add_output_name_option(*sub, command->files.output_name);
  sub->add_option("-o,--output", command->files.output,
                  "ONNX file to write (default: ARCH-DATA.onnx, or in the run folder)");
  sub->add_option("--solver", settings.solver,
                  "dfw (Deep Frank-Wolfe: no learning rate), adam, adadelta, adagrad or nesterov")
      ->capture_default_str();
  sub->add_option("--lr", settings.learning_rate,
                  "learning rate (default: adagrad 0.01, adadelta 1, adam 0.001, nesterov 0.01)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--lambda", settings.lambda,
                  "weight of the regulariser (default: 0.001, or that of --init)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--epochs", settings.epochs, "passes over the training part")->capture_default_str();
  sub->add_option(
         "--schedule", settings.schedule,
         "of the learning rate: constant, or cosine (falls to 0 at the end of the epochs or the time)")
      ->capture_default_str();
  add_time_limit_option(*sub, settings.time_limit,
                        "of the training itself, such as 10m or 1h30m; the network so far is written");
  sub->add_option("--batch", settings.batch, "samples per step")->capture_default_str();
  sub->add_option("--eval-every", settings.eval_every, "epochs between evaluations of the objective")
      ->capture_default_str();
  sub->add_option("--seed", settings.seed, "seed of initial weights, batch order and dropout")
      ->check(whole_number())
      ->capture_default_str();
  add_run_options(
      *sub, command->files, command->run,
      "go on with the run in this folder, with its settings; --epochs, --eval-every, --time-limit and -o may "
      "be given anew, and more --epochs than it had extend it to the bits of a run of that length");
  add_common_options(*sub, common);
  return {sub, [command, sub, &common] {
            command->run.given = given_options(*sub);
            return run_train(common, *command);
          }};
}

}  // namespace lwsvm::cli
