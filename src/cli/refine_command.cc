// lwsvm refine: LW-SVM on a network that exists, no learning rate, the objective never rises.
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/run_display.h"
#include "lwsvm/refine.h"
#include "report/json_text.h"
#include "report/result_json.h"

namespace lwsvm::cli {
namespace {

struct RefineCommand {
  RunFiles files;
  RunOptions run;
  RefineSettings settings;
  std::string memory = settings.memory.text();
};

// NOLINTNEXTLINE(performance-unnecessary-value-param): changed through its parts
int run_refine(const Common& common, RefineCommand command) {
  const InterruptGuard guard;
  Terminal terminal(stderr, common.quiet);
  RunDisplay display(terminal);
  auto& [files, run, settings, memory] = command;
  settings.memory = memory;
  connect(common, terminal, display, files, settings);
  const RefineSummary summary =
      run.resume.empty() ? refine(files, settings) : resume_refine(run.resume, settings, run.given, files);
  if (common.json)
    fmt::print("{}\n", json_text(nlohmann::json(summary)));
  else
    fmt::print("before: {}\nafter:  {}  -> {}\n{} updates, {} rejected, {} rises, {}; dual state {}\n",
               to_string(summary.start), to_string(summary.end), summary.model, summary.moves,
               summary.rejected, summary.rises, format_duration(summary.seconds),
               format_bytes(static_cast<double>(summary.dual_bytes)));
  return summary.finished ? done : interrupt_exit_code();
}

constexpr const char* kFooter =
    R"(Every move lowers F or is taken back. Over the opened layers l, c_l = 0 or the network as read (--centre):
  F = lambda/2 sum_l ||w_l - c_l||^2 + 1/N sum_i max_y [ Delta(y, y_i) + s_y(x_i) - s_{y_i}(x_i) ]

Moves:
  layer         one layer as a structured SVM, solved in its dual; accepted if F(w) < F(w_t), otherwise mu *= 4 and
                again, 4 solves in all. It ends at gap <= GAP * (P(w_t) - D), or a quarter of that for an SVM layer,
                or after MAX-EPOCHS epochs
                P(w) = lambda/2 ||w - c||^2 + mu/2 ||w - w_t||^2 + 1/N sum_i H_i(w),  gap = P(w) - D
  sweep         all layers at once, one or more passes over the samples in closed-form steps of radius eta, which is
                0.003 where there is time for 1,500 steps of 100 samples, 0.001 for 150, else 0.00033; three
                times as much, and so on, if a short run gains 1.3 times as much with that, a third, and so on, if F
                rises by more than 5% in a short run; it comes down to zero within a sweep; accepted if F fell,
                otherwise eta /= 3. Mirrored images are drawn, too, more and more seldom, if the network's wrong answers on them
                are at most 1.25 times those on validation images
When it stops:  PATIENCE moves without a better network by validation, or F fell by less than 0.3% in 8 moves (0.5%
                in a pass with --moves layers), or PASSES, or TIME-LIMIT, or Ctrl-C
What is kept:   of the networks after any move whose validation accuracy is at least the start's and at most half a
                standard error below the highest, the one with the lowest F (with --moves layers, or fewer than 1,000
                validation samples: the best by validation accuracy, or loss); or a better one on the line from the
                start to it
With --mode paper: F over all layers around 0, layers in turn, mu = 10 lambda, one step per batch, a solve ends when the dual rose by less than 1% in
an epoch, no test.)";

}  // namespace

Command add_refine(CLI::App& app, Common& common) {
  auto command = std::make_shared<RefineCommand>();
  RefineSettings& settings = command->settings;
  CLI::App* sub =
      app.add_subcommand("refine", "lower a network's objective layer by layer, without a learning rate");
  sub->footer(kFooter);
  sub->add_option("network", command->files.network, "ONNX file to refine");
  add_output_name_option(*sub, command->files.output_name);
  add_task_options(*sub, command->files.data, settings.task, common);
  add_augment_option(*sub, settings.task,
                     "(default: sweeps, but not F, take mirrored images where these are as good as new ones; "
                     "none: they do not)");
  add_normalize_options(*sub, settings.pixels);
  add_anyway_option(*sub, settings.pixels);
  sub->add_option("-o,--output", command->files.output, "ONNX file to write (default: NAME.refined.onnx)");
  sub->add_option("--layers", settings.layers,
                  "all, or names separated by commas, with * and ? as in a shell: '*/layer3*,*Gemm'")
      ->capture_default_str();
  sub->add_option_function<std::string>(
      "--lambda",
      [&settings](const std::string& text) {
        settings.search_lambda = text == "auto";
        settings.lambda = parse_lambda(text, "refine");
      },
      "weight of the regulariser, or auto: chosen by validation accuracy (default: the network's, else one "
      "with which moving the opened layers as far as they are long costs 0.08 of a wrong answer)");
  sub->add_option("--centre", settings.centre,
                  "where the regulariser pulls to: start (the network as read), zero, or another ONNX file "
                  "(default: what the file remembers, else zero for networks of lwsvm, start for others)");
  sub->add_option("--mu", settings.mu, "fixes the proximal weight (default: adapted)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--moves", settings.moves,
                  "auto (layers and sweeps, whichever gains more for its work), layers (in turn) or sweeps")
      ->capture_default_str();
  sub->add_option(
      "--passes", settings.passes,
      "passes over the layers, and in sweeps over the samples, at most (default: 10, or as many as it takes "
      "to see 500,000 samples, if that is not too much work; with a time limit any number)");
  sub->add_option("--patience", settings.patience,
                  "moves in a row without a better network by validation until it stops (default: 12, or any "
                  "number with a time limit); with "
                  "--moves layers passes that end below the best (default: 1)");
  sub->add_option("--gap", settings.gap, "relative gap at which an inner solve ends")->capture_default_str();
  sub->add_option("--max-epochs", settings.max_epochs, "epochs of one inner solve, at most")
      ->capture_default_str();
  sub->add_option("--batch", settings.batch, "samples whose steps are chosen together")
      ->capture_default_str();
  add_time_limit_option(*sub, settings.time_limit, "such as 10m or 1h30m");
  sub->add_option(
         "--memory", command->memory,
         "that a move takes: an open layer buffers of the weights' size, which it cannot do without, "
         "dual state, and cached activations as far as they fit; sweeps are left out if their buffers do "
         "not fit; inspect tells what both take")
      ->capture_default_str();
  sub->add_option("--mode", settings.mode, "standard or paper")->capture_default_str();
  sub->add_option("--search", settings.search, "labels, auto (everything for dense layers) or full")
      ->capture_default_str();
  sub->add_option("--keep", settings.keep, "best (by validation accuracy) or last")->capture_default_str();
  sub->add_option("--seed", settings.seed, "order of the samples")
      ->check(whole_number())
      ->capture_default_str();
  add_run_options(
      *sub, command->files, command->run,
      "go on with the run in this folder, with its settings; -o, --time-limit, --passes and --keep may be "
      "given anew");
  add_common_options(*sub, common);
  return {sub, [command, sub, &common] {
            command->run.given = given_options(*sub);
            return run_refine(common, *command);
          }};
}

}  // namespace lwsvm::cli
