// lwsvm svm: a plain multi-class linear SVM on raw pixels or LIBSVM files.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "base/units.h"
#include "cli/commands.h"
#include "lwsvm/svm.h"
#include "report/json_text.h"

namespace lwsvm::cli {
namespace {

// A bar on a terminal, a line for each epoch elsewhere. The bar is full when the gap is closed, on a
// logarithmic scale: from 1, where every solve begins, to --gap.
class SvmDisplay {
 public:
  SvmDisplay(Terminal& terminal, double wanted_gap)
      : terminal_(terminal), wanted_gap_(wanted_gap), bar_(terminal, "svm", kTotal) {}

  void show(const SvmProgress& now) {
    if (now.epoch_end && !terminal_.live())
      terminal_.line("epoch {:>4}  primal {:.6f}  dual {:.6f}  gap {:.3g}%  {}", now.epoch, now.primal,
                     now.dual, 100 * now.relative_gap(), format_duration(now.seconds));
    if (bar_.due()) {
      const double part = std::log(std::clamp(now.relative_gap(), wanted_gap_, 1.0)) / std::log(wanted_gap_);
      furthest_ = std::max(furthest_, part);
      bar_.update(static_cast<std::uint64_t>(furthest_ * kTotal),
                  fmt::format("epoch {}  primal {:.5f}  dual {:.5f}  gap {:.3g}%", now.epoch + 1, now.primal,
                              now.dual, 100 * now.relative_gap()));
    }
  }

 private:
  static constexpr std::uint64_t kTotal = 1000;

  Terminal& terminal_;
  double wanted_gap_;
  double furthest_ = 0;
  Progress bar_;
};

void print_json(const SvmSummary& found) {
  nlohmann::ordered_json record{{"objective", found.objective},
                                {"dual", found.dual},
                                {"gap", found.gap},
                                {"relative_gap", found.relative_gap},
                                {"accuracy", found.train_accuracy},
                                {"train_accuracy", found.train_accuracy}};
  if (found.val_accuracy) record["val_accuracy"] = *found.val_accuracy;
  if (found.test_accuracy) record["test_accuracy"] = *found.test_accuracy;
  record.update({{"lambda", found.lambda},
                 {"c", found.c},
                 {"samples", found.samples},
                 {"features", found.features},
                 {"classes", found.classes},
                 {"epochs", found.epochs},
                 {"visits", found.visits},
                 {"dual_bytes", found.dual_bytes},
                 {"seconds", found.seconds},
                 {"reason", found.reason},
                 {"finished", found.finished}});
  if (!found.model.empty()) record["model"] = found.model;
  fmt::print("{}\n", json_text(record));
}

void print_line(const SvmSummary& found) {
  std::string line = fmt::format("objective {:.6f}  dual {:.6f}  gap {:.3g}%  train {:.2f}%", found.objective,
                                 found.dual, 100 * found.relative_gap, 100 * found.train_accuracy);
  if (found.val_accuracy) line += fmt::format("  val {:.2f}%", 100 * *found.val_accuracy);
  if (found.test_accuracy) line += fmt::format("  test {:.2f}%", 100 * *found.test_accuracy);
  fmt::print("{}  {}{}\n", line, format_duration(found.seconds),
             found.model.empty() ? "" : "  -> " + found.model);
}

struct SvmCommand {
  SvmFiles files;
  SvmSettings settings;
  std::uint64_t split_seed = 0;
};

// NOLINTNEXTLINE(performance-unnecessary-value-param): changed through its parts
int run_svm(const Common& common, SvmCommand command) {
  const InterruptGuard guard;
  Terminal terminal(stderr, common.quiet);
  auto& [files, settings, split_seed] = command;
  std::optional<SvmDisplay> display(std::in_place, terminal, settings.gap);
  files.data = located(files.data, common);
  files.on_work = bars_on(terminal);
  settings.task.split_seed = split_seed;
  settings.threads = common.threads;
  settings.on_message = lines_on(terminal);
  settings.on_progress = [&](const SvmProgress& progress) {
    display->show(progress);
    return true;
  };
  const SvmSummary summary = train_svm(files, settings);
  display.reset();
  if (common.json)
    print_json(summary);
  else
    print_line(summary);
  return summary.finished ? done : interrupt_exit_code();
}

constexpr const char* kSvmFooter = R"(Minimises, over W and b,

  P = lambda/2 (||W||^2 + ||b||^2) + 1/N sum_i max_y [ Delta(y, y_i) + s_y(x_i) - s_{y_i}(x_i) ],   s(x) = W x + b

by exact steps on blocks of its dual D <= min P. Stops as soon as

  P - D <= gap * P      (checked after an epoch, P over all N training samples: then P is within gap * P of the best)

or after --max-epochs, or at Ctrl-C with what it has (exit code 130).

The same problem for LIBLINEAR, whose objective is P / lambda:

  liblinear-train -s 4 -B 1 -c C -e 0.01 FILE MODEL      with C = 1 / (lambda N); N without the validation part

A LIBSVM file has one sample per line: label index:value index:value ...; labels are any integers, indices rise from 1.
Where nearly all features are zero, as in text, memory and time go with the entries of the file.
The model written takes its features as N x F x 1 x 1 and numbers the classes in the order of their labels, which are
its class names; eval and refine take such data as an .npz with x_train of N x F.)";

}  // namespace

Command add_svm(CLI::App& app, Common& common) {
  auto command = std::make_shared<SvmCommand>();
  auto& [files, settings, split_seed] = *command;
  CLI::App* sub =
      app.add_subcommand("svm", "train and test a linear multi-class SVM, for comparison with LIBLINEAR");
  sub->footer(kSvmFooter);
  CLI::Option* data =
      sub->add_option("--data", files.data.name,
                      "data set whose raw pixels are the features: fashion-mnist, mnist, cifar10, "
                      "cifar100, synthetic, or a path")
          ->capture_default_str();
  CLI::Option* train =
      sub->add_option("--train", files.train, "LIBSVM file to learn from instead")->excludes(data);
  sub->add_option("--test", files.test, "LIBSVM file to test on")->needs(train);
  sub->add_option(
      "--val", settings.task.validation,
      "validation samples taken from the training set: a count or a fraction (default: as for train; "
      "none of a LIBSVM file)");
  sub->add_option("--split-seed", split_seed, "seed of that split")
      ->check(whole_number())
      ->capture_default_str();
  add_photo_options(*sub, files.data.photos, common);
  add_normalize_options(*sub, settings.pixels);
  add_per_pixel_option(*sub, settings.pixels);
  sub->add_option("--delta", files.data.margins,
                  "CSV file with the margin matrix, C x C, row = predicted, column = true (default: 0-1)");
  sub->add_option("--lambda", settings.lambda, "weight of the regulariser, > 0")->capture_default_str();
  sub->add_option("--gap", settings.gap, "relative gap at which it stops, see below")->capture_default_str();
  sub->add_option("--max-epochs", settings.max_epochs, "maximum number of epochs")->capture_default_str();
  sub->add_option("--batch", settings.batch, "samples improved together")->capture_default_str();
  sub->add_option("--seed", settings.seed, "seed of the order of samples")
      ->check(whole_number())
      ->capture_default_str();
  sub->add_option("-o,--output", files.output, "ONNX file to write (default: none)");
  add_common_options(*sub, common);
  return {sub, [command, &common] { return run_svm(common, *command); }};
}

}  // namespace lwsvm::cli
