// lwsvm reproduce: the paper's experiments, and its tables with our figures beside the paper's.
#include <fmt/ranges.h>

#include <filesystem>

#include "base/interrupt.h"
#include "cli/commands.h"
#include "pages/run_report.h"
#include "report/json_text.h"
#include "reproduce/parts.h"
#include "reproduce/plan.h"
#include "reproduce/results.h"

namespace lwsvm::cli {
namespace {

std::string described(const Part& part) {
  if (const auto* training = std::get_if<TrainSettings>(&part.settings))
    return fmt::format("{} epochs of {}{}", training->train.epochs, training->train.solver,
                       part.from.empty() ? "" : (part.extends ? ", going on with " : ", from ") + part.from);
  return fmt::format("LW-SVM from {}, --mode {}", part.from, std::get<RefineSettings>(part.settings).mode);
}

// What was finished before. Throws Error, before hours of work are done, if a folder holds another run.
PartResults finished_results(const Plan& plan) {
  PartResults results;
  for (const Part& part : plan.parts)
    if (auto finished = finished_result(part)) results[part.name] = std::move(*finished);
  return results;
}

void write_page(const Common& common, const Plan& plan, const PartResults& results, Terminal& terminal) {
  ReportOptions options;
  options.title = plan.title;
  options.table = report_table(plan, results);
  options.data_dir = common.data_dir;
  options.threads = common.threads;
  const std::filesystem::path out = plan.options.out;
  std::vector<std::string> folders;
  for (const Part& part : plan.parts) folders.push_back((out / part.name).string());
  for (const std::string& warning :
       write_run_report(folders, (out / "report.html").string(), options).warnings)
    terminal.line("report.html: {}", warning);
}

void print(const Common& common, const Plan& plan, const PartResults& results) {
  if (common.json)
    fmt::print("{}\n", json_text(results_json(plan, results)));
  else
    fmt::print("{}\n{}\n-> {}: table.md, table.csv, table.tex, results.json, report.html\n",
               readable_table(plan, results).str(), plan.caption, plan.options.out);
}

int reproduce(Common common, const ReproduceOptions& options) {
  Terminal terminal(stderr, common.quiet);
  if (!common.data_dir.empty()) common.data_dir = std::filesystem::absolute(common.data_dir).string();
  const Plan plan = make_plan(options);
  PartResults results = finished_results(plan);
  const InterruptGuard guard;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    const std::string place = fmt::format("part {} of {}, {}", i + 1, plan.parts.size(), part.name);
    if (results.contains(part.name)) {
      terminal.line("{}: was finished before", place);
    } else {
      terminal.line("{}: {}", place, described(part));
      RunResult run;
      try {
        run = run_part(common, plan, part, terminal);
      } catch (const Interrupted&) {  // before it had begun
        run.over = false;
        run.exit_code = interrupt_exit_code();
      }
      if (!run.over) {
        terminal.line("stopped in {}; the same command goes on with it", place);
        return run.exit_code;
      }
      results[part.name] = std::move(run.values);
    }
    if (!part.from.empty()) check_start(part, results[part.name], results.at(part.from));
    write_results(plan, results);  // a reproduction of days can be looked at while it runs
  }
  write_page(common, plan, results, terminal);
  print(common, plan, results);
  return done;
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

void add_reproduce(CLI::App& app, Common& common) {
  auto options = std::make_shared<ReproduceOptions>();
  CLI::App* sub = app.add_subcommand("reproduce", "run an experiment of the paper and print its table");
  sub->footer(kReproduceFooter);
  sub->add_option("experiment", options->experiment, fmt::format("{}", fmt::join(experiment_names(), ", ")))
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
  sub->callback([options, &common] { common.exit_code = reproduce(common, *options); });
}

}  // namespace lwsvm::cli
