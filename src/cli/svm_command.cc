// lwsvm svm: a plain multi-class linear SVM [CS01] on raw pixels or LIBSVM files, with a certificate.
//
// The layer solver with mu = 0 and nothing in front of it: what LIBLINEAR solves with -s 4 -B 1. What it
// reports comes from the evaluator that `lwsvm eval` uses, so that both say the same of the file written.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/commands.h"
#include "data/margin_csv.h"
#include "model/arch.h"
#include "model/onnx_writer.h"
#include "net/evaluator.h"
#include "report/json_text.h"
#include "run/svm_data.h"
#include "run/task.h"
#include "ssvm/multiclass_svm.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;

struct SvmCommand {
  SvmDataOptions source;
  NormalizeOptions normalize;
  MulticlassSvmOptions solver;
  std::string delta;
  std::string output;
};

// What can be known to be wrong before the work begins.
void check_output(const SvmCommand& command) {
  if (command.output.empty()) return;
  const fs::path folder = fs::absolute(command.output).parent_path();
  if (!fs::is_directory(folder)) fail("svm", "-o {}: there is no folder {}", command.output, folder.string());
  if (fs::is_directory(command.output)) fail("svm", "-o {}: this is a folder; give a file", command.output);
  for (const std::string& input : {command.source.train_file, command.source.test_file})
    if (!input.empty() && fs::exists(input) && fs::exists(command.output) &&
        fs::equivalent(input, command.output))
      fail("svm", "{} would overwrite its input; give another -o", command.output);
  check_writable(command.output);
}

// A network has a weight for every feature from the first to the last.
void check_model_size(const SvmCommand& command, const SvmData& data) {
  constexpr double kLargest = 2e9;  // bytes: what an ONNX file may hold
  const std::int64_t features = data.data.shape.size();
  const double bytes = sizeof(float) * static_cast<double>(data.data.classes) * static_cast<double>(features);
  if (!command.output.empty() && bytes > kLargest)
    fail(
        "svm",
        "{}: a network of {} classes x {} features takes {}, and an ONNX file holds at most 2 GB; number the "
        "features from 1 without gaps, or leave out -o",
        command.source.train_file, data.data.classes, format_count(features), format_bytes(bytes));
}

Model make_model(const SvmCommand& command, const SvmData& data, const Normalization& normalization) {
  const ImageShape& shape = data.data.shape;
  Model model;
  model.graph = build_network("id", {shape.channels, shape.height, shape.width}, data.data.classes,
                              normalization.mean, normalization.std, command.solver.seed);
  model.info.arch = "id";
  model.info.lambda = command.solver.lambda;
  model.info.data = data.data.name;
  model.info.classes = data.data.classes;
  model.info.class_names = data.data.class_names;
  if (data.from_files)
    model.info.input = fmt::format("{}, features 1..{} as in the file", to_string(shape), shape.size());
  note_split({data.split.validation.size(), command.source.split_seed}, model.info);
  model.info.metadata["lwsvm.loss"] = "svm";
  return model;
}

// Both keep classes x width weights, then the biases; the network also those of features that no training
// sample has, which are zero.
void set_weights(Graph& graph, const LinearModel& linear, const SparseSvmData* sparse) {
  const ParameterRange range = graph.node(graph.output()).trained;
  float* weights = graph.parameters().data() + range.begin;
  const std::int64_t classes = linear.classes, width = range.size / classes - 1;
  LWSVM_CHECK(range.size == classes * (width + 1) && (sparse || width == linear.width));
  std::fill_n(weights, range.size, 0.0f);
  for (std::int64_t y = 0; y < classes; ++y)
    for (std::int64_t j = 0; j < linear.width; ++j)
      weights[y * width + (sparse ? sparse->columns[static_cast<std::size_t>(j)] : j)] =
          linear.weights[static_cast<std::size_t>(y * linear.width + j)];
  std::copy(linear.biases.begin(), linear.biases.end(), weights + classes * width);
}

// Loss and accuracy of the parts: of dense data by the evaluator that `lwsvm eval` uses.
class SvmEvaluation {
 public:
  SvmEvaluation(const SvmData& data, const Loss& loss, const LinearModel& linear, const Threads& threads)
      : data_(data), loss_(loss), linear_(linear), threads_(threads) {}

  void look_at(const Graph& graph) { evaluator_.emplace(graph, threads_); }

  LossSums evaluate(SvmPart which) {
    if (!data_.sparse) return evaluator_->evaluate(data_.view(which), loss_);
    constexpr std::int64_t kSamples = 256;
    const SparseSvmData::Part& part = data_.sparse->part(which);
    std::vector<LossSums> sums(static_cast<std::size_t>((part.rows.rows() + kSamples - 1) / kSamples));
    threads_.for_ranges(part.rows.rows(), kSamples, [&](std::int64_t begin, std::int64_t end) {
      const auto classes = static_cast<std::size_t>(linear_.classes);
      std::vector<float> scores(static_cast<std::size_t>(end - begin) * classes);
      for (std::int64_t i = begin; i < end; ++i)
        linear_.scores(part.rows, i,
                       std::span(scores).subspan(static_cast<std::size_t>(i - begin) * classes, classes));
      const auto labels =
          std::span(part.labels)
              .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
      sums[static_cast<std::size_t>(begin / kSamples)] = loss_.evaluate(scores.data(), labels, nullptr, 0);
    });
    LossSums total;
    for (const LossSums& some : sums) total.add(some);
    return total;
  }

  double objective(const LossSums& train, const Graph& graph, double lambda) const {
    if (!data_.sparse) return evaluator_->objective(train, Regulariser(graph, lambda));
    return 0.5 * lambda * linear_.squared_norm() + train.mean_loss();
  }

 private:
  const SvmData& data_;
  const Loss& loss_;
  const LinearModel& linear_;
  const Threads& threads_;
  std::optional<Evaluator> evaluator_;
};

double relative(double gap, double primal) {
  return primal > 0 ? gap / primal : 0;
}

// A bar on a terminal, a line for each epoch elsewhere. The bar is full when the gap is closed, on a
// logarithmic scale: from 1, where every solve begins, to --gap.
class SvmReporter {
 public:
  SvmReporter(Terminal& terminal, double wanted_gap)
      : terminal_(terminal), wanted_gap_(wanted_gap), bar_(std::in_place, terminal, "svm", kTotal) {}

  bool operator()(const SolveProgress& now) {
    if (now.epoch_end) epoch_line(now.epoch, now.primal, now.dual, now.gap, now.seconds);
    if (bar_->due()) {
      const double part =
          std::log(std::clamp(relative(now.gap, now.primal), wanted_gap_, 1.0)) / std::log(wanted_gap_);
      furthest_ = std::max(furthest_, part);
      bar_->update(static_cast<std::uint64_t>(furthest_ * kTotal),
                   fmt::format("epoch {}  primal {:.5f}  dual {:.5f}  gap {:.3g}%", now.epoch + 1, now.primal,
                               now.dual, 100 * relative(now.gap, now.primal)));
    }
    return !interrupted();
  }

  void finish(const Summary& summary) {
    bar_.reset();
    if (summary.reason != StopReason::interrupted)
      epoch_line(summary.epochs, summary.primal, summary.dual, summary.gap, summary.seconds);
  }

 private:
  static constexpr std::uint64_t kTotal = 1000;

  void epoch_line(int epoch, double primal, double dual, double gap, double seconds) {
    if (terminal_.live()) return;
    terminal_.line("epoch {:>4}  primal {:.6f}  dual {:.6f}  gap {:.3g}%  {}", epoch, primal, dual,
                   100 * relative(gap, primal), format_duration(seconds));
  }

  Terminal& terminal_;
  double wanted_gap_;
  double furthest_ = 0;
  std::optional<Progress> bar_;
};

void announce(Terminal& terminal, const SvmCommand& command, const SvmData& data, const Threads& threads) {
  terminal.line("{}: {} training, {} validation, {} test samples of {} features, {} classes", data.data.name,
                format_count(data.size(SvmPart::train)), format_count(data.size(SvmPart::validation)),
                format_count(data.size(SvmPart::test)), format_count(data.data.shape.size()),
                data.data.classes);
  if (data.sparse)
    terminal.line("kept sparse: {} features occur in the training samples, {} numbers are not zero",
                  format_count(data.sparse->columns.size()), format_count(data.sparse->train.rows.entries()));
  terminal.line("lambda {}, which is C = {:.6g} for LIBLINEAR; to a gap of {}% of the primal; {} threads",
                command.solver.lambda,
                1 / (command.solver.lambda * static_cast<double>(data.size(SvmPart::train))),
                100 * command.solver.relative_gap, threads.count());
}

// Why it stopped, where that is not "the gap is closed".
void explain_stop(Terminal& terminal, const SvmCommand& command, const Summary& summary, double gap) {
  const std::string saved =
      command.output.empty() ? "" : fmt::format("; what there is is in {}", command.output);
  if (summary.reason == StopReason::interrupted)
    terminal.line("stopped{}", saved);
  else if (summary.reason != StopReason::gap_closed)
    terminal.line(
        "--max-epochs {} used up with a gap of {:.3g}% left; more epochs, a larger --gap or a larger "
        "--lambda "
        "would close it",
        command.solver.max_epochs, 100 * gap);
}

void report(const Common& common, const SvmCommand& command, const SvmData& data, const Loss& loss,
            const Model& model, const MulticlassSvmResult& result, Terminal& terminal,
            const Threads& threads) {
  const Summary& summary = result.summary;
  SvmEvaluation evaluation(data, loss, result.model, threads);
  if (!data.sparse) evaluation.look_at(model.graph);
  const LossSums train = evaluation.evaluate(SvmPart::train);
  const double objective = evaluation.objective(train, model.graph, command.solver.lambda);
  const double gap = objective - summary.dual, relative_gap = relative(gap, objective);
  explain_stop(terminal, command, summary, relative_gap);
  nlohmann::ordered_json record{
      {"objective", objective},       {"dual", summary.dual},         {"gap", gap},
      {"relative_gap", relative_gap}, {"accuracy", train.accuracy()}, {"train_accuracy", train.accuracy()}};
  std::string line = fmt::format("objective {:.6f}  dual {:.6f}  gap {:.3g}%  train {:.2f}%", objective,
                                 summary.dual, 100 * relative_gap, 100 * train.accuracy());
  for (const auto& [name, part] : {std::pair("val", SvmPart::validation), {"test", SvmPart::test}}) {
    if (data.size(part) == 0) continue;
    const double accuracy = evaluation.evaluate(part).accuracy();
    record[fmt::format("{}_accuracy", name)] = accuracy;
    line += fmt::format("  {} {:.2f}%", name, 100 * accuracy);
  }
  const std::int64_t samples = data.size(SvmPart::train);
  record.update({{"lambda", command.solver.lambda},
                 {"c", 1 / (command.solver.lambda * static_cast<double>(samples))},
                 {"samples", samples},
                 {"features", data.data.shape.size()},
                 {"classes", data.data.classes},
                 {"epochs", summary.epochs},
                 {"visits", summary.visits},
                 {"dual_bytes", result.dual_bytes},
                 {"seconds", summary.seconds},
                 {"reason", to_string(summary.reason)},
                 {"finished", summary.reason != StopReason::interrupted}});
  if (!command.output.empty()) record["model"] = command.output;
  if (common.json)
    fmt::print("{}\n", json_text(record));
  else
    fmt::print("{}  {}{}\n", line, format_duration(summary.seconds),
               command.output.empty() ? "" : "  -> " + command.output);
}

int svm(const Common& common, SvmCommand command) {
  Terminal terminal(stderr, common.quiet);
  const InterruptGuard guard;
  command.solver.validate();
  check_output(command);
  command.source.data_dir = common.data_dir;
  const NormalizeOptions& asked = command.normalize;
  command.source.normalised = !asked.name.empty() || asked.scale || !asked.mean.empty() ||
                              !asked.deviation.empty() || asked.per_pixel;
  const SvmData data(command.source);
  stop_if_interrupted("loading the data");
  check_model_size(command, data);
  const Normalization normalization = svm_normalization(data, command.normalize.parse(data.data));
  const MarginMatrix margin =
      command.delta.empty()
          ? MarginMatrix(data.data.classes)
          : MarginMatrix(data.data.classes, read_margin_matrix(command.delta, data.data.classes));
  Model model;  // of sparse features, which may be many, only where it is written
  if (!data.sparse) model = make_model(command, data, normalization);
  const Threads threads = start_threads(common, terminal);
  announce(terminal, command, data, threads);

  SvmReporter reporter(terminal, command.solver.relative_gap);
  const MulticlassSvmResult result =
      data.sparse ? train_multiclass_svm(data.sparse->train.rows, data.sparse->train.labels, margin,
                                         command.solver, threads, std::ref(reporter))
                  : train_multiclass_svm(feature_matrix(data.train, data.data.shape, normalization),
                                         data.data.shape.size(), labels_of(data.train), margin,
                                         command.solver, threads, std::ref(reporter));
  reporter.finish(result.summary);
  if (data.sparse && !command.output.empty()) model = make_model(command, data, normalization);
  if (!model.graph.nodes().empty())
    set_weights(model.graph, result.model, data.sparse ? &*data.sparse : nullptr);
  if (!command.output.empty()) write_onnx(model, command.output);
  report(common, command, data, Loss(LossKind::hinge, margin), model, result, terminal, threads);
  return result.summary.reason == StopReason::interrupted ? interrupt_exit_code() : done;
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

void add_svm(CLI::App& app, Common& common) {
  auto command = std::make_shared<SvmCommand>();
  CLI::App* sub =
      app.add_subcommand("svm", "train and test a linear multi-class SVM, for comparison with LIBLINEAR");
  sub->footer(kSvmFooter);
  CLI::Option* data =
      sub->add_option("--data", command->source.data,
                      "data set whose raw pixels are the features: fashion-mnist, mnist, cifar10, "
                      "cifar100, synthetic, or a path")
          ->capture_default_str();
  CLI::Option* train =
      sub->add_option("--train", command->source.train_file, "LIBSVM file to learn from instead")
          ->excludes(data);
  sub->add_option("--test", command->source.test_file, "LIBSVM file to test on")->needs(train);
  sub->add_option(
      "--val", command->source.validation,
      "validation samples taken from the training set: a count or a fraction (default: as for train; "
      "none of a LIBSVM file)");
  sub->add_option("--split-seed", command->source.split_seed, "seed of that split")
      ->check(whole_number())
      ->capture_default_str();
  command->normalize.add_to(*sub);
  command->normalize.add_per_pixel_to(*sub);
  sub->add_option("--delta", command->delta,
                  "CSV file with the margin matrix, C x C, row = predicted, column = true (default: 0-1)");
  sub->add_option("--lambda", command->solver.lambda, "weight of the regulariser, > 0")
      ->capture_default_str();
  sub->add_option("--gap", command->solver.relative_gap, "relative gap at which it stops, see below")
      ->capture_default_str();
  sub->add_option("--max-epochs", command->solver.max_epochs, "most epochs")->capture_default_str();
  sub->add_option("--batch", command->solver.batch_size, "samples improved together")->capture_default_str();
  sub->add_option("--seed", command->solver.seed, "seed of the order of samples")
      ->check(whole_number())
      ->capture_default_str();
  sub->add_option("-o,--output", command->output, "ONNX file to write (default: none)");
  add_common_options(*sub, common);
  sub->callback([command, &common] { common.exit_code = svm(common, *command); });
}

}  // namespace lwsvm::cli
