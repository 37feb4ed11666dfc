// lwsvm refine: LW-SVM on a network that exists, no learning rate, the objective never rises.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/nearest.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/model_input.h"
#include "cli/run_folder.h"
#include "cli/settings.h"
#include "cli/task.h"
#include "dc/tail.h"
#include "lwsvm/lambda_search.h"
#include "lwsvm/refiner.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/storage.h"
#include "report/run_log.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

struct RefineCommand {
  TaskOptions task;
  NormalizeOptions normalize;  // a resumed run finds it in the network's metadata
  std::string input, output, run_folder, resume_folder;
  std::string layers = "all";
  std::string lambda;  // empty: the network's own
  std::string search = "auto", keep = "best", mode = "standard";
  std::string memory = "4G", time_limit;
  json start;  // quality of the input
  RefineOptions refine;

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {
    TaskOptions::fields(self.task, visit);
    visit("input", self.input);
    visit("output", self.output);
    visit("layers", self.layers);
    visit("lambda", self.lambda);
    visit("search", self.search);
    visit("keep", self.keep);
    visit("mode", self.mode);
    visit("memory", self.memory);
    visit("mu", self.refine.mu);
    visit("passes", self.refine.passes);
    visit("patience", self.refine.patience);
    visit("gap", self.refine.gap);
    visit("max_epochs", self.refine.max_epochs);
    visit("batch", self.refine.batch);
    visit("seed", self.refine.seed);
    visit("start", self.start);
  }
};

template <typename T>
T pick(const char* option, const std::string& word, const std::vector<std::pair<std::string, T>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    names.push_back(name);
  }
  fail_unknown("refine", option, word, names);
}

// The layers to open: those named, or all that can be opened and written back; of others, why not.
std::vector<int> chosen_layers(const std::string& text, const Model& model, Terminal& terminal) {
  const Graph& graph = model.graph;
  std::vector<int> layers;
  if (text == "all") {
    std::string reason = "no layer of this network can be refined";
    for (int node : refinable_layers(graph)) {
      const std::string obstacle = why_not_storable(model, node);
      if (obstacle.empty()) {
        layers.push_back(node);
      } else {
        reason = fmt::format("layer '{}' is left as it is: {}", graph.node(node).name, obstacle);
        terminal.line("{}", reason);
      }
    }
    if (layers.empty()) fail("refine", "{}", reason);
    return layers;
  }
  std::vector<std::string> known;
  for (const Node& node : graph.nodes())
    if (node.has_weights()) known.push_back(node.name);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    const auto node = graph.find(name);
    if (!node || !graph.node(*node).has_weights())
      fail("refine", "there is no layer '{}' with weights; layers: {}", name, fmt::join(known, ","));
    const std::string obstacle = why_not_storable(model, *node);
    if (!obstacle.empty()) fail("refine", "layer '{}' cannot be refined: {}", name, obstacle);
    if (std::find(layers.begin(), layers.end(), *node) == layers.end()) layers.push_back(*node);
    begin = end + 1;
  }
  return layers;
}

double searched_lambda(const RefineCommand& command, Model& model, const Task& task, const Threads& threads,
                       Terminal& terminal) {
  terminal.line("lambda auto: the last layer's SVM for a grid of lambdas, judged on {} validation samples",
                format_count(task.validation.size()));
  LambdaSearchOptions options;
  options.batch = command.refine.batch;
  options.seed = command.refine.seed;
  options.memory = parse_bytes(command.memory, "memory");
  const LambdaChoice choice = choose_lambda(
      model.graph, task.training, task.validation, task.loss, options, threads, [&](const LambdaTrial& t) {
        terminal.line("  lambda {:<8.3g} val {:6.2f}%  training loss {:.4f}  {} epochs", t.lambda,
                      100 * t.val_accuracy, t.train_loss, t.epochs);
        return !interrupted();
      });
  terminal.line("lambda {:.3g}: best on the validation part, ties to the larger", choice.lambda);
  return choice.lambda;
}

// A foreign network has no lambda: one with which the opened layers' regulariser weighs as much as the loss,
// within reason.
double balanced_lambda(const Graph& graph, std::span<const int> layers, const Task& task,
                       const Threads& threads) {
  double squares = 0;
  for (int layer : layers) {
    const ParameterRange& range = graph.node(layer).trained;
    for (std::int64_t i = range.begin; i < range.end(); ++i)
      squares += std::pow(static_cast<double>(graph.parameters()[static_cast<std::size_t>(i)]), 2);
  }
  const double hinge = Evaluator(graph, threads).evaluate(task.training, task.loss).mean_loss();
  return std::clamp(2 * hinge / std::max(squares, 1e-30), 1e-6, 1e-3);
}

double lambda_for(const RefineCommand& command, Model& model, std::span<const int> layers, const Task& task,
                  const Threads& threads, Terminal& terminal) {
  if (command.lambda == "auto") return searched_lambda(command, model, task, threads, terminal);
  if (!command.lambda.empty()) {
    char* end = nullptr;
    const double value = std::strtod(command.lambda.c_str(), &end);
    if (*end != '\0' || !(value > 0))
      fail("refine", "lambda is '{}'; it must be a positive number", command.lambda);
    return value;
  }
  if (model.info.lambda && *model.info.lambda > 0) return *model.info.lambda;
  const double lambda = balanced_lambda(model.graph, layers, task, threads);
  terminal.line(
      "lambda {:.3g}: the file does not say what it was trained with; chosen so that the regulariser of the "
      "opened layers weighs as much as the loss, within 1e-6 and 1e-3",
      lambda);
  return lambda;
}

// Networks of other programs: nobody knows what they were trained on. Ours say so.
bool may_know_validation(const ModelInfo& info, const Task& task) {
  return task.validation.size() > 0 && is_foreign(info) && !info.metadata.contains("lwsvm.split");
}

class RefineReporter final : public RefineObserver {
 public:
  RefineReporter(Terminal& terminal, const RefineCommand& command, const Model& model, double time_limit)
      : terminal_(terminal), command_(command), model_(model), time_limit_(time_limit) {}

  void attach(Refiner& refiner, RunLog* log) {
    refiner_ = &refiner;
    log_ = log;
  }

  void on_open(int pass, const std::string& layer) override {
    pass_ = pass;
    layer_ = layer;
    bar_.emplace(terminal_, fmt::format("pass {} {}", pass, layer),
                 1000 * static_cast<std::uint64_t>(command_.refine.max_epochs));
  }

  void on_progress(const SolveProgress& p) override {
    if (bar_ && bar_->due())
      bar_->update(static_cast<std::uint64_t>(1000 * (p.epoch + p.epoch_fraction)),
                   fmt::format("primal {:.5f} dual {:.5f} gap {:.5f} step {:.2f} epoch {}", p.primal, p.dual,
                               p.gap, p.mean_step, p.epoch + 1));
    if (!p.epoch_end || !log_) return;
    log_->write({{"type", "inner"},
                 {"pass", pass_},
                 {"layer", layer_},
                 {"epoch", p.epoch},
                 {"seconds", refiner_->seconds()},
                 {"primal", p.primal},
                 {"dual", p.dual},
                 {"gap", p.gap},
                 {"mean_step", p.mean_step}});
  }

  void on_update(const LayerUpdate& u) override {
    bar_.reset();
    terminal_.line("pass {} {:<10} {:<8} mu {:<8.3g} {:>2} epochs  gap {:.5f}  F {:.5f} -> {:.5f}{}  {}  {}",
                   u.pass, u.layer, u.form, u.mu, u.epochs, u.gap, u.before, u.after,
                   u.val_accuracy < 0 ? "" : fmt::format("  val {:.2f}%", 100 * u.val_accuracy),
                   format_duration(u.seconds), u.accepted ? u.reason : "rejected: " + u.reason);
    if (!log_) return;
    nlohmann::ordered_json record{
        {"type", "update"},   {"pass", u.pass},           {"layer", u.layer},
        {"form", u.form},     {"epoch", u.epochs},        {"seconds", refiner_->seconds()},
        {"primal", u.primal}, {"dual", u.dual},           {"gap", u.gap},
        {"mu", u.mu},         {"predicted", u.predicted}, {"actual", u.actual},
        {"before", u.before}, {"objective", u.after},     {"train_accuracy", u.train_accuracy}};
    if (u.val_accuracy >= 0) record["val_accuracy"] = u.val_accuracy;
    record["accepted"] = u.accepted;
    record["reason"] = u.reason;
    record["dual_bytes"] = u.dual_bytes;
    log_->write(record);
  }

  void on_pass(int pass, const NetworkQuality& q) override {
    terminal_.line("pass {} ends: objective {:.5f}  train {:.2f}%{}  {}", pass, q.objective,
                   100 * q.train_accuracy,
                   q.val_accuracy < 0 ? "" : fmt::format("  val {:.2f}%", 100 * q.val_accuracy),
                   format_duration(refiner_->seconds()));
  }

  void on_safe_point() override {
    if (timer_.due()) save();
  }

  void save() {
    if (!log_) return;
    Checkpoint checkpoint;
    refiner_->save(checkpoint);
    save_run(checkpoint, command_.run_folder, "refine", settings_of(command_), model_, log_->sync());
    timer_.restart();
  }

  bool stop_requested() override {
    if (interrupted()) {
      save();
      return true;
    }
    if (time_limit_ > 0 && watch_.seconds() > time_limit_) {
      timed_out_ = true;
      save();
      return true;
    }
    return false;
  }

  bool timed_out() const { return timed_out_; }

 private:
  Terminal& terminal_;
  const RefineCommand& command_;
  const Model& model_;
  double time_limit_;
  Refiner* refiner_ = nullptr;
  RunLog* log_ = nullptr;
  std::optional<Progress> bar_;
  int pass_ = 0;
  std::string layer_;
  bool timed_out_ = false;
  CheckpointTimer timer_;
  Stopwatch watch_;
};

json quality_json(const Model& model, const Task& task, double lambda, const Threads& threads) {
  Evaluator evaluator(model.graph, threads);
  const LossSums train = evaluator.evaluate(task.training, task.loss);
  json result{{"objective", evaluator.objective(train, lambda)},
              {"accuracy", train.accuracy()},
              {"train_accuracy", train.accuracy()}};
  if (task.validation.size() > 0)
    result["val_accuracy"] = evaluator.evaluate(task.validation, task.loss).accuracy();
  if (task.test_part()) {
    result["test_accuracy"] = evaluator.evaluate(task.test, task.loss).accuracy();
    result["accuracy"] = result["test_accuracy"];
  }
  return result;
}

std::string quality_line(const json& q) {
  std::string line = fmt::format("objective {:.5f}  train {:.2f}%", q["objective"].get<double>(),
                                 100 * q["train_accuracy"].get<double>());
  if (q.contains("val_accuracy")) line += fmt::format("  val {:.2f}%", 100 * q["val_accuracy"].get<double>());
  if (q.contains("test_accuracy"))
    line += fmt::format("  test {:.2f}%", 100 * q["test_accuracy"].get<double>());
  return line;
}

int refine(const Common& common, RefineCommand command) {
  Terminal terminal(stderr, common.quiet);
  std::optional<SavedRun> saved;
  if (!command.resume_folder.empty()) {
    saved = load_run(command.resume_folder, "refine");
    take_settings(saved->settings, command);
    command.run_folder = saved->folder;
  }
  if (command.input.empty()) fail("refine", "which network? lwsvm refine NETWORK.onnx --data NAME");
  if (command.output.empty())
    command.output =
        (fs::path(command.input).parent_path() / (fs::path(command.input).stem().string() + ".refined.onnx"))
            .string();
  check_output("refine", command.output, command.input, command.run_folder);
  if (command.task.data_dir.empty()) command.task.data_dir = common.data_dir;

  Model model = saved ? std::move(saved->model) : read_onnx(command.input);
  const Task task(command.task, &model.info);
  fit_input(model, command.normalize, task.data, terminal);
  const Threads threads(common.threads);
  RefineOptions options = command.refine;
  options.layers = chosen_layers(command.layers, model, terminal);
  options.as_stored = [&](int node, std::span<float> weights) {
    return round_to_storage(model, node, weights);
  };
  options.lambda = lambda_for(command, model, options.layers, task, threads, terminal);
  command.lambda = fmt::format("{}", options.lambda);  // a resumed run need not choose again
  options.search =
      pick<Search>("search", command.search,
                   {{"labels", Search::labels}, {"auto", Search::automatic}, {"full", Search::full}});
  options.keep = pick<Keep>("keep", command.keep, {{"best", Keep::best}, {"last", Keep::last}});
  options.mode = pick<RefineMode>("mode", command.mode,
                                  {{"standard", RefineMode::standard}, {"paper", RefineMode::paper}});
  options.memory = parse_bytes(command.memory, "memory");
  const double time_limit = command.time_limit.empty() ? 0 : parse_duration(command.time_limit, "time-limit");

  RefineReporter reporter(terminal, command, model, time_limit);
  Refiner refiner(model.graph, task.training, &task.validation, task.loss, options, threads);
  if (!saved) command.start = quality_json(model, task, options.lambda, threads);
  if (!saved && may_know_validation(model.info, task))
    terminal.line(
        "the network may have been trained on the {} validation samples, which then say little; --val 0 "
        "--passes N refines on all samples, N passes",
        format_count(task.validation.size()));
  model.info.lambda = options.lambda;
  model.info.data = task.data.name;
  model.info.metadata["lwsvm.loss"] = command.task.loss;
  task.note_split(model.info);
  terminal.line("{}: {} parameters, lambda {:.4g}, {} threads", command.input,
                format_count(static_cast<std::int64_t>(model.graph.parameters().size())), options.lambda,
                threads.count());
  terminal.line("start: {}", quality_line(command.start));

  std::optional<RunLog> log;
  if (!command.run_folder.empty()) {
    if (saved) {
      log.emplace(command.run_folder, saved->log_offset);
    } else {
      log.emplace(command.run_folder);
      auto record = run_record("refine", settings_of(command), task);
      record["lambda"] = options.lambda;
      record["start"] = command.start;
      log->write(record);
    }
  }
  InterruptGuard guard;
  reporter.attach(refiner, log ? &*log : nullptr);
  if (saved) {
    refiner.restore(std::move(saved->checkpoint));
    saved.reset();
    terminal.line("resuming in pass {}", refiner.pass() + 1);
  } else {
    reporter.save();  // so that a run can be resumed from its first moment on
  }
  const RefineEnd end = refiner.run(reporter);
  if (end != RefineEnd::stopped) reporter.save();
  refiner.keep_chosen();
  write_onnx(model, command.output);

  json result = quality_json(model, task, options.lambda, threads);
  if (end == RefineEnd::stopped)
    terminal.line("{}; the best network so far is written{}", reporter.timed_out() ? "time is up" : "stopped",
                  command.run_folder.empty()
                      ? ""
                      : fmt::format("; go on with `lwsvm refine --resume {}`", command.run_folder));
  else
    terminal.line("done: {}; kept the network of pass {}", to_string(end),
                  options.keep == Keep::last ? refiner.pass() : refiner.best_pass());
  if (common.json) {
    result["start"] = command.start;
    result["updates"] = refiner.updates();
    result["rejected"] = refiner.rejected();
    result["rises"] = refiner.rises();
    result["passes"] = refiner.pass();
    result["seconds"] = refiner.seconds();
    result["dual_bytes"] = refiner.dual_bytes();
    result["end"] = to_string(end);
    result["model"] = command.output;
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("before: {}\nafter:  {}  -> {}\n{} updates, {} rejected, {} rises, {}; dual state {}\n",
               quality_line(command.start), quality_line(result), command.output, refiner.updates(),
               refiner.rejected(), refiner.rises(), format_duration(refiner.seconds()),
               format_bytes(static_cast<double>(refiner.dual_bytes())));
  }
  return end == RefineEnd::stopped && !reporter.timed_out() ? interrupt_exit_code() : done;
}

constexpr const char* kFooter = R"(Every layer in turn, output to input, is a structured SVM; F never rises:
  F = lambda/2 sum_l ||w_l||^2 + 1/N sum_i max_y [ Delta(y, y_i) + s_y(x_i) - s_{y_i}(x_i) ]

When things stop:
  inner solve   gap <= GAP * (P(w_t) - D), or a quarter of that for an SVM layer, or MAX-EPOCHS epochs
                P(w) = lambda/2 ||w||^2 + mu/2 ||w - w_t||^2 + 1/N sum_i H_i(w),  gap = P(w) - D
  update        accepted if F(w) < F(w_t); otherwise mu *= 4 and again, at most 4 times
  refine        validation accuracy below the best at the end of PATIENCE passes in a row, or F fell by less
                than 0.5% in a pass, or PASSES passes, or TIME-LIMIT, or Ctrl-C
  kept          the pass end with the best validation accuracy, the start included; ties to the lower F
With --mode paper: mu = 10 lambda, one step a batch, stop when the dual rose by less than 1% in an epoch, no test.)";

}  // namespace

void add_refine(CLI::App& app, Common& common) {
  auto command = std::make_shared<RefineCommand>();
  CLI::App* sub =
      app.add_subcommand("refine", "lower a network's objective layer by layer, without a learning rate");
  sub->footer(kFooter);
  sub->add_option("network", command->input, "ONNX file to refine");
  command->task.add_to(*sub);
  command->task.add_augment_to(*sub);
  command->normalize.add_to(*sub);
  sub->add_option("-o,--output", command->output, "ONNX file to write (default: NAME.refined.onnx)");
  sub->add_option("--layers", command->layers, "all, or names separated by commas")->capture_default_str();
  sub->add_option(
      "--lambda", command->lambda,
      "weight of the regulariser, or auto: chosen by validation accuracy (default: the network's)");
  sub->add_option("--mu", command->refine.mu, "fixes the proximal weight (default: adapted)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--passes", command->refine.passes, "passes over the layers, at most")
      ->capture_default_str();
  sub->add_option("--patience", command->refine.patience,
                  "passes in a row that may end below the best validation accuracy until it stops")
      ->capture_default_str();
  sub->add_option("--gap", command->refine.gap, "relative gap at which an inner solve ends")
      ->capture_default_str();
  sub->add_option("--max-epochs", command->refine.max_epochs, "epochs of one inner solve, at most")
      ->capture_default_str();
  sub->add_option("--batch", command->refine.batch, "samples whose steps are chosen together")
      ->capture_default_str();
  sub->add_option("--time-limit", command->time_limit, "such as 10m or 1h30m");
  sub->add_option("--memory", command->memory, "for cached activations and dual state")
      ->capture_default_str();
  sub->add_option("--mode", command->mode, "standard or paper")->capture_default_str();
  sub->add_option("--search", command->search, "labels, auto (everything for dense layers) or full")
      ->capture_default_str();
  sub->add_option("--keep", command->keep, "best (by validation accuracy) or last")->capture_default_str();
  sub->add_option("--seed", command->refine.seed, "order of the samples")->capture_default_str();
  CLI::Option* run = sub->add_option("--run", command->run_folder, "folder for log.jsonl and checkpoints");
  sub->add_option("--resume", command->resume_folder, "go on with the run in this folder, with its settings")
      ->excludes(run);
  add_common_options(*sub, common);
  sub->callback([command, &common] { common.exit_code = refine(common, *command); });
}

}  // namespace lwsvm::cli
