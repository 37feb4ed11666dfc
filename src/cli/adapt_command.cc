// lwsvm adapt: a network that others trained, for classes of one's own.
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/run_display.h"
#include "lwsvm/adapt.h"
#include "report/json_text.h"
#include "report/result_json.h"

namespace lwsvm::cli {
namespace {

struct AdaptCommand {
  RunFiles files;
  RunOptions run;
  AdaptSettings settings;
  std::string memory = settings.memory.text();
};

// NOLINTNEXTLINE(performance-unnecessary-value-param): changed through its parts
int run_adapt(const Common& common, AdaptCommand command) {
  const InterruptGuard guard;
  Terminal terminal(stderr, common.quiet);
  RunDisplay display(terminal);
  auto& [files, run, settings, memory] = command;
  settings.memory = memory;
  settings.cache = common.cache;
  settings.cache_limit = cache_limit_of(common);
  connect(common, terminal, display, files, settings);
  const AdaptSummary summary =
      run.resume.empty() ? adapt(files, settings) : resume_adapt(run.resume, settings, run.given, files);
  if (common.json)
    fmt::print("{}\n", json_text(nlohmann::json(summary)));
  else
    fmt::print("last layer alone: {}\nin the end:       {}  -> {}\n{} of its layers changed; {}\n",
               to_string(summary.head), to_string(summary.end), summary.model, summary.layers.size(),
               format_duration(summary.seconds));
  return summary.finished ? done : interrupt_exit_code();
}

constexpr const char* kAdaptFooter =
    R"(The last dense layer or convolution goes, with whatever comes after it; in its place comes a dense layer for the classes of
the data. Everything before it is run once per sample. The new layer is solved exactly:

  F = lambda/2 (||W||^2 + ||b||^2) + 1/N sum_i max_y [ Delta(y, y_i) + s_y(x_i) - s_{y_i}(x_i) ],   to a gap of 0.1% of F

with lambda from a grid, relative to the mean of ||features||^2, by accuracy in five folds of the training set, twice, or on the
validation part that comes with the data: the middle of those within a standard error of the best. Then, with --depth auto, all layers of
the network's last third (by work) are moved by a sweep (see lwsvm refine --help) of as many passes as look at 20,000 samples, within 12 and
100, with F around the network as it was; where that is no better by validation, half as many, and so on. Of at most 5,000 photos these layers also see copies (--augment flip,crop4; none: they
do not). What copies that were not asked for lead to is kept if, of the validation photos that one of the two networks is right about and the
other is not,

  won - lost > 2 sqrt(won + lost).

In the end what was chosen is done once more with the validation samples among those that are learned from.

Delta is 0-1; with --balance (mean count / count of the true class)^(1/2), scaled to a mean of 1: rare classes get
larger margins.)";

}  // namespace

Command add_adapt(CLI::App& app, Common& common) {
  auto command = std::make_shared<AdaptCommand>();
  AdaptSettings& settings = command->settings;
  CLI::App* sub = app.add_subcommand(
      "adapt", "make a trained network yours: a new last layer for your classes, then further layers");
  sub->footer(kAdaptFooter);
  sub->add_option("network", command->files.network, "ONNX file of a trained network");
  add_output_name_option(*sub, command->files.output_name);
  add_task_options(*sub, command->files.data, settings.task, common);
  add_augment_option(*sub, settings.task);
  add_normalize_options(*sub, settings.pixels);
  sub->add_option("-o,--output", command->files.output, "ONNX file to write (default: NAME.adapted.onnx)");
  sub->add_option("--depth", settings.depth,
                  "head (the new layer alone), auto (further ones while validation improves) or all")
      ->capture_default_str();
  sub->add_option_function<std::string>(
      "--lambda", [&settings](const std::string& text) { settings.lambda = parse_lambda(text, "adapt"); },
      "weight of the regulariser (default: by validation)");
  sub->add_flag("--balance", settings.balance,
                "larger margins for rare classes, and all classes count the same");
  sub->add_flag("--keep-input", settings.keep_input,
                "leave the network's input as it was; by default normalisation becomes part of the written "
                "file, which takes pixels 0..255");
  add_time_limit_option(*sub, settings.time_limit, "such as 10m or 1h30m");
  sub->add_option("--memory", command->memory, "half for features, half for an open layer")
      ->capture_default_str();
  sub->add_flag("--float16", settings.half_features, "keep features as float16: half the space");
  sub->add_option("--batch", settings.batch, "samples whose steps are chosen together")
      ->capture_default_str();
  sub->add_option("--seed", settings.seed, "order of the samples")
      ->check(whole_number())
      ->capture_default_str();
  add_run_options(
      *sub, command->files, command->run,
      "go on with the run in this folder, with its settings; -o and --time-limit may be given anew");
  add_common_options(*sub, common);
  return {sub, [command, sub, &common] {
            command->run.given = given_options(*sub);
            return run_adapt(common, *command);
          }};
}

}  // namespace lwsvm::cli
