// lwsvm train: trains a network from scratch or from a file with a classic solver.
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/model_input.h"
#include "cli/run_folder.h"
#include "cli/settings.h"
#include "cli/task.h"
#include "model/arch.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/storage.h"
#include "report/run_log.h"
#include "sgd/trainer.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

struct TrainCommand {
  TaskOptions task;
  NormalizeOptions normalize;
  TrainOptions train;
  std::string arch = "mnist";
  std::string init;
  std::string output;
  std::string run_folder;
  std::string resume_folder;
  bool lambda_given = false;

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {
    TaskOptions::fields(self.task, visit);
    visit("arch", self.arch);
    visit("init", self.init);
    visit("output", self.output);
    visit("solver", self.train.solver);
    visit("learning_rate", self.train.learning_rate);
    visit("lambda", self.train.lambda);
    visit("epochs", self.train.epochs);
    visit("batch", self.train.batch);
    visit("eval_every", self.train.eval_every);
    visit("seed", self.train.seed);
  }
};

std::string default_output(const TrainCommand& command, const DataSet& data) {
  if (!command.run_folder.empty()) return (fs::path(command.run_folder) / "model.onnx").string();
  std::string name =
      (command.init.empty() ? command.arch : fs::path(command.init).stem().string()) + "-" + data.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
  return name.substr(0, 100) + ".onnx";
}

// The network to start from: that of the checkpoint, that of --init, or none yet.
std::optional<Model> given_model(const TrainCommand& command, std::optional<SavedRun>& saved) {
  if (saved) return std::move(saved->model);
  if (command.init.empty()) return std::nullopt;
  return read_onnx(command.init);
}

Model new_model(const TrainCommand& command, const Task& task) {
  const NormalizationOptions normalization = command.normalize.parse();
  const Normalization constants = make_normalization(task.data, task.split.train, normalization);
  Model model;
  const ImageShape& shape = task.data.shape;
  model.graph = build_network(command.arch, {shape.channels, shape.height, shape.width}, task.data.classes,
                              constants.mean, constants.std, command.train.seed);
  model.info.arch = command.arch;
  return model;
}

// Training changes every layer, so every layer must be one that the file can take back.
void check_storable(const Model& model) {
  for (std::size_t i = 0; i < model.graph.nodes().size(); ++i) {
    const std::string obstacle = why_not_storable(model, static_cast<int>(i));
    if (!obstacle.empty())
      fail("train", "layer '{}' cannot be trained: {} (lwsvm refine can leave it as it is)",
           model.graph.nodes()[i].name, obstacle);
  }
}

void note_training(const TrainCommand& command, const Task& task, Model& model) {
  model.info.lambda = command.train.lambda;
  model.info.data = task.data.name;
  model.info.classes = task.data.classes;
  model.info.class_names = task.data.class_names;
  task.note_split(model.info);
  model.info.metadata["lwsvm.loss"] = command.task.loss;
}

// Shows, logs and saves what happens; decides when to stop.
class TrainReporter final : public TrainObserver {
 public:
  TrainReporter(Terminal& terminal, const TrainCommand& command, const Model& model, std::int64_t samples)
      : terminal_(terminal), command_(command), model_(model), samples_(samples) {}

  void attach(Trainer& trainer, RunLog* log) {
    trainer_ = &trainer;
    log_ = log;
  }

  void on_batch(int epoch, std::int64_t done, double running_loss) override {
    if (!bar_)
      bar_.emplace(terminal_, fmt::format("epoch {}/{}", epoch, command_.train.epochs),
                   static_cast<std::uint64_t>(samples_), static_cast<std::uint64_t>(done));
    if (bar_->due()) bar_->update(static_cast<std::uint64_t>(done), fmt::format("loss {:.4f}", running_loss));
    if (done == samples_) bar_.reset();
  }

  void on_epoch(const EpochResult& result) override {
    const double left = result.seconds / result.epoch * (command_.train.epochs - result.epoch);
    const std::string speed = fmt::format("{:>7.0f} samples/s  {:>7}  left {:>7}", result.samples_per_second,
                                          format_duration(result.seconds), format_duration(left));
    if (result.evaluated)
      terminal_.line("epoch {:>3}/{}  objective {:.5f}  train {:6.2f}%{}  {}", result.epoch,
                     command_.train.epochs, result.objective, 100 * result.train_accuracy,
                     result.val_accuracy < 0 ? "" : fmt::format("  val {:6.2f}%", 100 * result.val_accuracy),
                     speed);
    else
      terminal_.line("epoch {:>3}/{}  {}", result.epoch, command_.train.epochs, speed);
    if (!log_) return;
    nlohmann::ordered_json record{{"type", "epoch"}, {"epoch", result.epoch}, {"seconds", result.seconds}};
    if (result.evaluated) {
      record["objective"] = result.objective;
      record["train_accuracy"] = result.train_accuracy;
      if (result.val_accuracy >= 0) record["val_accuracy"] = result.val_accuracy;
    }
    record["samples_per_second"] = result.samples_per_second;
    log_->write(record);
  }

  void on_safe_point(bool epoch_ended) override {
    if (epoch_ended || timer_.due()) save();
  }

  void save() {
    if (!log_) return;
    Checkpoint checkpoint;
    trainer_->save(checkpoint);
    save_run(checkpoint, command_.run_folder, "train", settings_of(command_), model_, log_->sync());
    timer_.restart();
  }

  bool stop_requested() override { return interrupted(); }

 private:
  Terminal& terminal_;
  const TrainCommand& command_;
  const Model& model_;
  std::int64_t samples_;
  Trainer* trainer_ = nullptr;
  RunLog* log_ = nullptr;
  std::optional<Progress> bar_;
  CheckpointTimer timer_;
};

void report(const Common& common, const TrainCommand& command, const Task& task, Model& model,
            const Threads& threads, const Trainer& trainer, bool stopped) {
  Evaluator evaluator(model.graph, threads);
  const LossSums train = evaluator.evaluate(task.training, task.loss);
  const double objective = evaluator.objective(train, command.train.lambda);
  json result{
      {"objective", objective},    {"accuracy", train.accuracy()}, {"train_accuracy", train.accuracy()},
      {"epochs", trainer.epoch()}, {"seconds", trainer.seconds()}, {"model", command.output},
      {"finished", !stopped}};
  std::string line = fmt::format("objective {:.5f}  train {:.2f}%", objective, 100 * train.accuracy());
  if (task.validation.size() > 0) {
    const double accuracy = evaluator.evaluate(task.validation, task.loss).accuracy();
    result["val_accuracy"] = accuracy;
    line += fmt::format("  val {:.2f}%", 100 * accuracy);
  }
  if (task.test_part()) {
    const double accuracy = evaluator.evaluate(task.test, task.loss).accuracy();
    result["test_accuracy"] = result["accuracy"] = accuracy;
    line += fmt::format("  test {:.2f}%", 100 * accuracy);
  }
  if (common.json)
    fmt::print("{}\n", result.dump());
  else
    fmt::print("{}  -> {}\n", line, command.output);
}

int train(const Common& common, TrainCommand command) {
  Terminal terminal(stderr, common.quiet);
  std::optional<SavedRun> saved;
  if (!command.resume_folder.empty()) {
    saved = load_run(command.resume_folder, "train");
    take_settings(saved->settings, command);
    command.run_folder = saved->folder;
  }
  command.train.validate();
  if (command.task.data_dir.empty()) command.task.data_dir = common.data_dir;
  std::optional<Model> given = given_model(command, saved);
  const Task task(command.task, given ? &given->info : nullptr);
  Model model = given ? std::move(*given) : new_model(command, task);
  if (given)
    fit_input(model, command.normalize, task.data, terminal);
  else
    check_fit(model, task.data);
  check_storable(model);
  if (!command.init.empty() && !command.lambda_given && model.info.lambda && !saved)
    command.train.lambda = *model.info.lambda;
  if (command.train.learning_rate <= 0)
    command.train.learning_rate = default_learning_rate(command.train.solver);
  if (command.output.empty()) command.output = default_output(command, task.data);
  check_output("train", command.output, command.init, command.run_folder);
  note_training(command, task, model);

  const Threads threads(common.threads);
  TrainReporter reporter(terminal, command, model, task.training.size());
  Trainer trainer(model.graph, task.training, &task.validation, task.loss, command.train, threads);
  terminal.line("{}: {} training, {} validation, {} test samples of {}, {} classes", task.data.name,
                format_count(task.training.size()), format_count(task.validation.size()),
                format_count(task.test.size()), to_string(task.data.shape), task.data.classes);
  terminal.line("{}: {} parameters; {} with learning rate {}, lambda {}, batch {}, {} threads",
                command.init.empty() ? command.arch : command.init,
                format_count(static_cast<std::int64_t>(model.graph.parameters().size())),
                command.train.solver, command.train.learning_rate, command.train.lambda, command.train.batch,
                threads.count());

  std::optional<RunLog> log;
  if (!command.run_folder.empty()) {
    if (saved) {
      log.emplace(command.run_folder, saved->log_offset);
    } else {
      log.emplace(command.run_folder);
      log->write(run_record("train", settings_of(command), task));
    }
  }
  InterruptGuard guard;
  reporter.attach(trainer, log ? &*log : nullptr);
  if (saved) {
    trainer.restore(saved->checkpoint);
    saved.reset();
    terminal.line("resuming after {} of {} epochs", trainer.epoch(), command.train.epochs);
  } else {
    reporter.save();  // so that a run can be resumed from its first moment on
  }
  const TrainOutcome outcome = trainer.run(reporter);
  if (outcome == TrainOutcome::diverged)
    fail("train", "the loss is no longer a number; try a smaller --lr (it is {})",
         command.train.learning_rate);
  const bool stopped = outcome == TrainOutcome::stopped;
  reporter.save();
  round_to_storage(model);
  write_onnx(model, command.output);
  if (stopped)
    terminal.line("stopped; the network so far is in {}{}", command.output,
                  command.run_folder.empty()
                      ? ""
                      : fmt::format("; go on with `lwsvm train --resume {}`", command.run_folder));
  report(common, command, task, model, threads, trainer, stopped);
  return stopped ? interrupt_exit_code() : done;
}

}  // namespace

void add_train(CLI::App& app, Common& common) {
  auto command = std::make_shared<TrainCommand>();
  CLI::App* sub =
      app.add_subcommand("train", "train a network with Adam, Adadelta, Adagrad or Nesterov momentum");
  sub->footer(
      "Minimises  F = lambda/2 sum_l ||w_l||^2 + 1/N sum_i loss_i.  Stops after --epochs, or at Ctrl-C with "
      "what it has.\n\n" +
      arch_grammar());
  command->task.add_to(*sub);
  command->task.add_loss_to(*sub);
  command->task.add_augment_to(*sub);
  command->normalize.add_to(*sub);
  command->normalize.add_per_pixel_to(*sub);
  CLI::Option* arch =
      sub->add_option("--arch", command->arch, "network to build: a name or a string, see below")
          ->capture_default_str();
  sub->add_option("--init", command->init, "start from this ONNX file instead")->excludes(arch);
  sub->add_option("-o,--output", command->output,
                  "ONNX file to write (default: ARCH-DATA.onnx, or in the run folder)");
  sub->add_option("--solver", command->train.solver, "adagrad, adadelta, adam or nesterov")
      ->capture_default_str();
  sub->add_option("--lr", command->train.learning_rate,
                  "learning rate (default: adagrad 0.01, adadelta 1, adam 0.001, nesterov 0.01)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--lambda", command->train.lambda,
                  "weight of the regulariser (default: 0.001, or that of --init)")
      ->check(CLI::NonNegativeNumber)
      ->each([command](const std::string&) { command->lambda_given = true; });
  sub->add_option("--epochs", command->train.epochs, "passes over the training part")->capture_default_str();
  sub->add_option("--batch", command->train.batch, "samples a step")->capture_default_str();
  sub->add_option("--eval-every", command->train.eval_every, "epochs between evaluations of the objective")
      ->capture_default_str();
  sub->add_option("--seed", command->train.seed, "seed of initial weights, batch order and dropout")
      ->capture_default_str();
  CLI::Option* run = sub->add_option("--run", command->run_folder, "folder for log.jsonl and checkpoints");
  sub->add_option("--resume", command->resume_folder, "go on with the run in this folder, with its settings")
      ->excludes(run);
  add_common_options(*sub, common);
  sub->callback([command, &common] { common.exit_code = train(common, *command); });
}

}  // namespace lwsvm::cli
