// lwsvm report: one page about runs, to be looked at or sent.
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "pages/run_report.h"
#include "report/json_text.h"

namespace lwsvm::cli {
namespace {

struct ReportCommand {
  std::vector<std::string> runs;
  std::string output = "report.html";
  bool no_images = false;
  pages::ReportOptions options;
};

int report(const Common& common, ReportCommand command) {
  Terminal terminal(stderr, common.quiet);
  command.options.images = !command.no_images;
  command.options.data_dir = common.data_dir;
  command.options.threads = common.threads;
  const pages::ReportOutcome outcome = pages::write_run_report(command.runs, command.output, command.options);
  for (const std::string& warning : outcome.warnings) terminal.line("warning: {}", warning);
  if (common.json) {
    const nlohmann::ordered_json result{
        {"report", command.output}, {"runs", command.runs}, {"warnings", outcome.warnings}};
    fmt::print("{}\n", json_text(result));
  } else {
    fmt::print("{} run{} -> {}\n", command.runs.size(), command.runs.size() == 1 ? "" : "s", command.output);
  }
  return done;
}

}  // namespace

Command add_report(CLI::App& app, Common& common) {
  auto command = std::make_shared<ReportCommand>();
  CLI::App* sub = app.add_subcommand("report", "one HTML page about runs: curves, layer updates, images");
  sub->add_option("runs", command->runs, "run folders, as given to --run")->required();
  sub->add_option("-o,--output", command->output, "page to write")->capture_default_str();
  sub->add_option("--csv", command->options.csv,
                  "also write the logs as CSV: into this folder, or with one run to this .csv file");
  sub->add_option("--title", command->options.title, "title of the page (default: made of the data set)");
  sub->add_flag("--no-images", command->no_images,
                "do not evaluate the networks: no confusion matrices, images and filters");
  add_common_options(*sub, common);
  return {sub, [command, &common] { return report(common, *command); }};
}

}  // namespace lwsvm::cli
