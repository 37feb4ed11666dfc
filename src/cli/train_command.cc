// lwsvm train: trains a network from scratch or from a file with a classic solver.
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/run_display.h"
#include "model/arch.h"
#include "report/json_text.h"
#include "run/result_json.h"
#include "run/training_run.h"

namespace lwsvm::cli {
namespace {

int train(const Common& common, const run::TrainJob& job) {
  const InterruptGuard guard;
  Terminal terminal(stderr, common.quiet);
  RunDisplay display(terminal);
  const TrainSummary summary = run::run_training(job, run_context(common, terminal, &display)).summary;
  if (common.json)
    fmt::print("{}\n", json_text(nlohmann::json(summary)));
  else
    fmt::print("{}  -> {}\n", to_string(summary.end), summary.model);
  return summary.finished ? done : interrupt_exit_code();
}

}  // namespace

Command add_train(CLI::App& app, Common& common) {
  auto job = std::make_shared<run::TrainJob>();
  CLI::App* sub =
      app.add_subcommand("train", "train a network with Adam, Adadelta, Adagrad or Nesterov momentum");
  sub->footer(
      "Minimises  F = lambda/2 sum_l ||w_l||^2 + 1/N sum_i loss_i.  Stops after --epochs, or at Ctrl-C with "
      "what it has.\n\n" +
      arch_grammar());
  add_task_options(*sub, job->task, common);
  add_loss_option(*sub, job->task.loss);
  add_augment_option(*sub, job->task);
  add_normalize_options(*sub, job->pixels);
  add_anyway_option(*sub, job->pixels);
  add_per_pixel_option(*sub, job->pixels);
  CLI::Option* arch = sub->add_option("--arch", job->arch, "network to build: a name or a string, see below")
                          ->capture_default_str();
  sub->add_option("--init", job->init, "start from this ONNX file instead")->excludes(arch);
  add_output_name_option(*sub, job->output_name);
  sub->add_option("-o,--output", job->output,
                  "ONNX file to write (default: ARCH-DATA.onnx, or in the run folder)");
  sub->add_option("--solver", job->train.solver,
                  "dfw (Deep Frank-Wolfe: no learning rate), adam, adadelta, adagrad or nesterov")
      ->capture_default_str();
  sub->add_option("--lr", job->train.learning_rate,
                  "learning rate (default: adagrad 0.01, adadelta 1, adam 0.001, nesterov 0.01)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--lambda", job->train.lambda,
                  "weight of the regulariser (default: 0.001, or that of --init)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--epochs", job->train.epochs, "passes over the training part")->capture_default_str();
  sub->add_option(
         "--schedule", job->train.schedule,
         "of the learning rate: constant, or cosine (falls to 0 at the end of the epochs or the time)")
      ->capture_default_str();
  sub->add_option("--time-limit", job->time_limit,
                  "of the training itself, such as 10m or 1h30m; the network so far is written");
  sub->add_option("--batch", job->train.batch, "samples per step")->capture_default_str();
  sub->add_option("--eval-every", job->train.eval_every, "epochs between evaluations of the objective")
      ->capture_default_str();
  sub->add_option("--seed", job->train.seed, "seed of initial weights, batch order and dropout")
      ->check(whole_number())
      ->capture_default_str();
  CLI::Option* run = sub->add_option("--run", job->run_folder, "folder for log.jsonl and checkpoints");
  sub->add_option(
         "--resume", job->resume_folder,
         "go on with the run in this folder, with its settings; --epochs, --eval-every, --time-limit and "
         "-o may be given anew, and more --epochs than it had extend it to the bits of a run of that length")
      ->check(CLI::ExistingDirectory)
      ->excludes(run);
  add_common_options(*sub, common);
  return {sub, [job, sub, &common] {
            job->given = given_options(*sub);
            job->lambda_given = sub->count("--lambda") > 0;
            return train(common, *job);
          }};
}

}  // namespace lwsvm::cli
