// lwsvm refine: LW-SVM on a network that exists, no learning rate, the objective never rises.
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/run_display.h"
#include "report/json_text.h"
#include "run/refinement_run.h"
#include "run/result_json.h"

namespace lwsvm::cli {
namespace {

int refine(const Common& common, const run::RefineJob& job) {
  const InterruptGuard guard;
  Terminal terminal(stderr, common.quiet);
  RunDisplay display(terminal);
  const RefineSummary summary = run::run_refinement(job, run_context(common, terminal, &display)).summary;
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
                found by short runs at first and comes down to zero within a sweep; accepted if F fell, otherwise
                eta /= 3
When it stops:  PATIENCE moves without a better network by validation, or F fell by less than 0.3% in 8 moves (0.5%
                in a pass with --moves layers), or PASSES, or TIME-LIMIT, or Ctrl-C
What is kept:   the best network after any move, the start included, by validation accuracy, ties by validation loss
                (by loss alone with fewer than 1,000 samples), or a better one on the line from the start to it
With --mode paper: F over all layers around 0, layers in turn, mu = 10 lambda, one step per batch, a solve ends when the dual rose by less than 1% in
an epoch, no test.)";

}  // namespace

Command add_refine(CLI::App& app, Common& common) {
  auto job = std::make_shared<run::RefineJob>();
  CLI::App* sub =
      app.add_subcommand("refine", "lower a network's objective layer by layer, without a learning rate");
  sub->footer(kFooter);
  sub->add_option("network", job->input, "ONNX file to refine");
  add_output_name_option(*sub, job->output_name);
  add_task_options(*sub, job->task, common);
  add_augment_option(*sub, job->task);
  add_normalize_options(*sub, job->pixels);
  add_anyway_option(*sub, job->pixels);
  sub->add_option("-o,--output", job->output, "ONNX file to write (default: NAME.refined.onnx)");
  sub->add_option("--layers", job->layers,
                  "all, or names separated by commas, with * and ? as in a shell: '*/layer3*,*Gemm'")
      ->capture_default_str();
  sub->add_option(
      "--lambda", job->lambda,
      "weight of the regulariser, or auto: chosen by validation accuracy (default: the network's, else one "
      "that makes moving the opened layers cost about as much as the loss)");
  sub->add_option("--centre", job->centre,
                  "where the regulariser pulls to: start (the network as read), zero, or another ONNX file "
                  "(default: what the file remembers, else zero for networks of lwsvm, start for others)");
  sub->add_option("--mu", job->refine.mu, "fixes the proximal weight (default: adapted)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--moves", job->moves,
                  "auto (layers and sweeps, whichever gains more for its work), layers (in turn) or sweeps")
      ->capture_default_str();
  sub->add_option(
      "--passes", job->refine.passes,
      "passes over the layers, and in sweeps over the samples, at most (default: 10; with a time limit any "
      "number)");
  sub->add_option("--patience", job->refine.patience,
                  "moves in a row without a better network by validation until it stops (default: 12, or any "
                  "number with a time limit); with "
                  "--moves layers passes that end below the best (default: 1)");
  sub->add_option("--gap", job->refine.gap, "relative gap at which an inner solve ends")
      ->capture_default_str();
  sub->add_option("--max-epochs", job->refine.max_epochs, "epochs of one inner solve, at most")
      ->capture_default_str();
  sub->add_option("--batch", job->refine.batch, "samples whose steps are chosen together")
      ->capture_default_str();
  sub->add_option("--time-limit", job->time_limit, "such as 10m or 1h30m");
  sub->add_option("--memory", job->memory,
                  "that an open layer takes: buffers of the weights' size, which it cannot do without, dual "
                  "state, and cached activations as far as they fit; inspect tells, also what sweeps take "
                  "beside it")
      ->capture_default_str();
  sub->add_option("--mode", job->mode, "standard or paper")->capture_default_str();
  sub->add_option("--search", job->search, "labels, auto (everything for dense layers) or full")
      ->capture_default_str();
  sub->add_option("--keep", job->keep, "best (by validation accuracy) or last")->capture_default_str();
  sub->add_option("--seed", job->refine.seed, "order of the samples")
      ->check(whole_number())
      ->capture_default_str();
  CLI::Option* run = sub->add_option("--run", job->run_folder, "folder for log.jsonl and checkpoints");
  sub->add_option("--resume", job->resume_folder,
                  "go on with the run in this folder, with its settings; -o, --time-limit, --passes and "
                  "--keep may be given "
                  "anew")
      ->check(CLI::ExistingDirectory)
      ->excludes(run);
  add_common_options(*sub, common);
  return {sub, [job, sub, &common] {
            job->given = given_options(*sub);
            return refine(common, *job);
          }};
}

}  // namespace lwsvm::cli
