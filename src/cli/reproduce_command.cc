// lwsvm reproduce: the paper's experiments, and its tables with our figures beside the paper's.
#include <fmt/ranges.h>

#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/run_display.h"
#include "report/json_text.h"
#include "reproduce/reproduction.h"
#include "run/callbacks.h"

namespace lwsvm::cli {
namespace {

int run_reproduce(const Common& common, const reproduce::ReproduceOptions& options) {
  const InterruptGuard guard;
  Terminal terminal(stderr, common.quiet);
  RunDisplay display(terminal);
  TrainSettings training;
  RefineSettings refining;
  display.follow(training);
  display.follow(refining);
  refining.on_trial = {};  // those of training hear every trial
  run::TrainCallbacks on_training(training);
  run::MoveCallbacks on_refining(refining);
  const reproduce::Reproduction done = reproduce::reproduce(
      options, {common.threads, common.data_dir, &terminal, {&on_training, &on_refining}});
  if (!done.finished) return interrupt_exit_code();
  if (common.json)
    fmt::print("{}\n", json_text(reproduce::results_json(done.plan, done.results)));
  else
    fmt::print("{}\n{}\n-> {}: table.md, table.csv, table.tex, results.json, report.html\n",
               reproduce::readable_table(done.plan, done.results).str(), done.plan.caption,
               done.plan.options.out);
  return ExitCode::done;
}

constexpr const char* kReproduceFooter = R"(Parts, one run folder each in DIR, for each solver S:
  pretrain-S      CIFAR only: 10 epochs of softmax cross-entropy
  S               training: MNIST 200, 100, 100 epochs of adagrad, adadelta, adam; CIFAR 1000, 100, 100
  S-longer        the same run extended: MNIST to 500 epochs, CIFAR to twice as many
  S-lwsvm         refine from S's network
  S-lwsvm-paper   refine --mode paper from S's network
failures: lambda 0.01, and a network without biases, both without batch norm; each solver from random weights,
  LW-SVM from what it came to, and LW-SVM from random weights.
A part that is finished is not run again and one that was stopped goes on, also if `lwsvm train --run DIR/S` with the
same settings began it. --scale quick is a smaller protocol: MNIST in about 10 minutes on 2 cores, CIFAR with the
network cifar/4 in half an hour.)";

}  // namespace

Command add_reproduce(CLI::App& app, Common& common) {
  auto options = std::make_shared<reproduce::ReproduceOptions>();
  CLI::App* sub = app.add_subcommand("reproduce", "run an experiment of the paper and print its table");
  sub->footer(kReproduceFooter);
  sub->add_option("experiment", options->experiment,
                  fmt::format("{}", fmt::join(reproduce::experiment_names(), ", ")))
      ->required();
  sub->add_option("--scale", options->scale, "full (as in the paper) or quick")->capture_default_str();
  sub->add_option("--solvers", options->solvers, "of adagrad, adadelta, adam, separated by commas")
      ->capture_default_str();
  sub->add_option("--out", options->out, "folder for runs and tables (default: reproduce/EXPERIMENT)");
  sub->add_option("--epochs", options->epochs, "of every solver, in place of the paper's")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--longer", options->longer, "of every extended run, in place of the paper's")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--passes", options->passes, "of LW-SVM, at most (default: 10; quick: 1)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--layers", options->layers,
                  "that LW-SVM opens (default: all; quick on CIFAR: the last three)");
  sub->add_option("--time-limit", options->time_limit,
                  "of each refinement, such as 30m (default: none; quick on CIFAR: 3m)");
  sub->add_option("--arch", options->arch, "another network: see lwsvm train --help");
  sub->add_option("--data", options->data, "another data set: see lwsvm train --help");
  add_common_options(*sub, common);
  return {sub, [options, &common] { return run_reproduce(common, *options); }};
}

}  // namespace lwsvm::cli
