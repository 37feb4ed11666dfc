#include "run/training_run.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "model/arch.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/storage.h"
#include "run/centre.h"
#include "run/model_input.h"
#include "run/run_folder.h"
#include "run/settings.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;

std::string default_output(const TrainSettings& settings, const DataSet& data) {
  if (!settings.run_folder.empty()) return (fs::path(settings.run_folder) / "model.onnx").string();
  std::string name =
      (settings.init.empty() ? settings.arch : fs::path(settings.init).stem().string()) + "-" + data.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
  return name.substr(0, 100) + ".onnx";
}

// The network to start from: that of the checkpoint, that of --init, or none yet.
std::optional<Model> given_model(const TrainSettings& settings, std::optional<SavedRun>& saved) {
  if (saved) return std::move(saved->model);
  if (settings.init.empty()) return std::nullopt;
  return read_onnx(settings.init, settings.output_name);
}

Model new_model(const TrainSettings& settings, const Task& task) {
  const NormalizationOptions normalization = settings.normalize.parse(task.data);
  const Normalization constants = make_normalization(task.data, task.split.train, normalization);
  Model model;
  const ImageShape& shape = task.data.shape;
  model.graph = build_network(settings.arch, {shape.channels, shape.height, shape.width}, task.data.classes,
                              constants.mean, constants.std, settings.train.seed);
  model.info.arch = settings.arch;
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

// What is left open by the settings is decided here.
void complete(TrainSettings& settings, const Model& model, const DataSet& data, bool resumed) {
  if (!settings.init.empty() && !settings.lambda_given && model.info.lambda && !resumed)
    settings.train.lambda = *model.info.lambda;
  if (settings.train.learning_rate <= 0 && settings.train.solver != kFrankWolfe)
    settings.train.learning_rate = default_learning_rate(settings.train.solver);
  if (settings.output.empty()) settings.output = default_output(settings, data);
}

void note_training(const TrainSettings& settings, const Task& task, Model& model) {
  model.info.lambda = settings.train.lambda;
  forget_centre(model.info);  // all layers, around zero
  model.info.data = task.data.name;
  model.info.classes = task.data.classes;
  model.info.class_names = task.data.class_names;
  note_split(task.choice, model.info);
  model.info.metadata["lwsvm.loss"] = settings.task.loss;
}

void announce(const TrainSettings& settings, const Task& task, const Model& model, const Threads& threads,
              Terminal& terminal) {
  terminal.line("{}: {} training, {} validation, {} test samples of {}, {} classes", task.data.name,
                format_count(task.training.size()), format_count(task.validation.size()),
                format_count(task.test.size()), to_string(task.data.shape), task.data.classes);
  const std::string how =
      settings.train.solver == kFrankWolfe
          ? "Deep Frank-Wolfe, no learning rate"
          : fmt::format("{} with learning rate {}", settings.train.solver, settings.train.learning_rate);
  terminal.line("{}: {} parameters; {}, lambda {}, batch {}, {} threads",
                settings.init.empty() ? settings.arch : settings.init,
                format_count(static_cast<std::int64_t>(model.graph.parameters().size())), how,
                settings.train.lambda, settings.train.batch, threads.count());
}

// The checkpoint's network is an ONNX file of the kind that was read, which may hold its numbers as float16
// or times a factor. Training goes on from what they are, not from what such a file can hold.
constexpr const char* kParametersKey = "train.parameters";
constexpr const char* kStatisticsKey = "train.statistics";

void save_unrounded(Checkpoint& checkpoint, const Model& model) {
  if (!model.source) return;  // a file of ours, which holds float32
  checkpoint.put_view(kParametersKey, std::span<const float>(model.graph.parameters()));
  checkpoint.put_view(kStatisticsKey, std::span<const float>(model.graph.statistics()));
}

void restore_unrounded(const Checkpoint& checkpoint, Graph& graph) {
  if (!checkpoint.has(kParametersKey)) return;
  std::ranges::copy(checkpoint.get<float>(kParametersKey, graph.parameters().size()),
                    graph.parameters().begin());
  std::ranges::copy(checkpoint.get<float>(kStatisticsKey, graph.statistics().size()),
                    graph.statistics().begin());
}

// Shows, logs and saves what happens; decides when to stop.
class TrainReporter final : public TrainObserver {
 public:
  TrainReporter(Terminal& terminal, const TrainSettings& settings, const Model& model, std::int64_t samples,
                const Trainer& trainer)
      : terminal_(terminal), settings_(settings), model_(model), samples_(samples), trainer_(trainer) {}

  void write_to(RunLog& log, const ModelInfo& as_read, std::uint32_t data_checksum) {
    log_ = &log;
    as_read_ = &as_read;
    data_checksum_ = data_checksum;
  }

  void on_race(double radius, double objective) override {
    terminal_.line("  eta {:<8.2g} objective {:.5f} on a probe after a short run", radius, objective);
  }

  void on_batch(int epoch, std::int64_t done, double running_loss) override {
    if (!bar_)
      bar_.emplace(terminal_, fmt::format("epoch {}/{}", epoch, settings_.train.epochs),
                   static_cast<std::uint64_t>(samples_), static_cast<std::uint64_t>(done));
    if (bar_->due()) bar_->update(static_cast<std::uint64_t>(done), fmt::format("loss {:.4f}", running_loss));
    if (done == samples_) bar_.reset();
  }

  void on_epoch(const EpochResult& result) override {
    const double left = result.seconds / result.epoch * (settings_.train.epochs - result.epoch);
    const std::string speed = fmt::format("{:>7.0f} samples/s  {:>7}  left {:>7}", result.samples_per_second,
                                          format_duration(result.seconds), format_duration(left));
    if (result.evaluated)
      terminal_.line("epoch {:>3}/{}  objective {:.5f}  train {:6.2f}%{}  {}{}", result.epoch,
                     settings_.train.epochs, result.objective, 100 * result.train_accuracy,
                     result.val_accuracy < 0 ? "" : fmt::format("  val {:6.2f}%", 100 * result.val_accuracy),
                     speed, result.taken_back ? "  taken back: the objective would have risen" : "");
    else
      terminal_.line("epoch {:>3}/{}  {}", result.epoch, settings_.train.epochs, speed);
    if (!log_) return;
    nlohmann::ordered_json record{{"type", "epoch"}, {"epoch", result.epoch}, {"seconds", result.seconds}};
    if (result.evaluated) {
      record["objective"] = result.objective;
      record["train_accuracy"] = result.train_accuracy;
      if (result.val_accuracy >= 0) record["val_accuracy"] = result.val_accuracy;
    }
    record["samples_per_second"] = result.samples_per_second;
    if (result.taken_back) record["taken_back"] = true;
    log_->write(record);
  }

  void on_safe_point(bool epoch_ended) override {
    if (epoch_ended || timer_.due()) save();
  }

  void save() {
    if (!log_) return;
    Checkpoint checkpoint;
    trainer_.save(checkpoint);
    save_unrounded(checkpoint, model_);
    put_notes(*as_read_, checkpoint);
    save_run(checkpoint, settings_.run_folder, "train", settings_of(settings_), model_, data_checksum_,
             log_->sync());
    timer_.restart();
  }

  bool stop_requested() override { return interrupted(); }

 private:
  Terminal& terminal_;
  const TrainSettings& settings_;
  const Model& model_;
  std::int64_t samples_;
  const Trainer& trainer_;
  const ModelInfo* as_read_ = nullptr;
  RunLog* log_ = nullptr;
  std::uint32_t data_checksum_ = 0;
  std::optional<Progress> bar_;
  CheckpointTimer timer_;
};

// Throws Error where fewer epochs are asked of a run than it has done.
void restore(Trainer& trainer, Graph& graph, std::int64_t samples, const SavedRun& saved,
             const TrainSettings& settings, Terminal& terminal) {
  const auto position = saved.checkpoint.get<std::uint64_t>("trainer.position", 2);
  if (position[0] > std::numeric_limits<int>::max() || position[1] > static_cast<std::uint64_t>(samples))
    fail(
        "checkpoint",
        "{}: the run has done {} epochs and {} samples of the next, of {}: the checkpoint belongs to another "
        "data set or another version of lwsvm; start anew",
        saved.folder, position[0], position[1], samples);
  trainer.restore(saved.checkpoint);
  restore_unrounded(saved.checkpoint, graph);
  const int begun = trainer.epoch() + (trainer.within_epoch() ? 1 : 0);
  if (settings.train.epochs < begun)
    fail("train", "{}: --epochs {} is less than the {} that the run has {}; give more, or begin another run",
         saved.folder, settings.train.epochs, begun, begun > trainer.epoch() ? "begun" : "done");
  terminal.line("resuming after {} of {} epochs", trainer.epoch(), settings.train.epochs);
}

std::optional<RunLog> open_log(const TrainSettings& settings, const Task& task,
                               const std::optional<SavedRun>& saved) {
  if (settings.run_folder.empty()) return std::nullopt;
  const nlohmann::json asked = settings_of(settings);
  if (!saved) {
    RunLog log(settings.run_folder);
    log.write(run_record("train", asked, task));
    return log;
  }
  RunLog log(settings.run_folder, saved->log_offset);
  if (asked != saved->settings) log.write({{"type", "resume"}, {"settings", asked}});
  return log;
}

}  // namespace

RunResult run_training(const Common& common, TrainSettings settings, Terminal& terminal) {
  const InterruptGuard guard;
  // Where the data lie is meant from the folder where the user is, and may change.
  const std::string data_dir = common.data_dir.empty() ? "" : fs::absolute(common.data_dir).string();
  std::optional<SavedRun> saved =
      open_saved("train", settings, {"--epochs", "--eval-every", "--time-limit", "--output"});
  if (!settings.time_limit.empty())
    settings.train.time_limit = parse_duration(settings.time_limit, "time-limit");
  settings.train.validate();
  if (!data_dir.empty()) settings.task.data_dir = data_dir;
  std::optional<Model> given = given_model(settings, saved);
  const Threads threads = start_threads(common, terminal);
  const Task task(settings.task, given ? &given->info : nullptr);
  stop_if_interrupted("loading the data");
  if (saved) check_same_data(*saved, task);
  Model model = given ? std::move(*given) : new_model(settings, task);
  if (given)
    fit_input(model, settings.normalize, task.data, threads, terminal);
  else
    check_fit(model, task.data);
  const ModelInfo as_read = saved ? notes_of(saved->checkpoint, model.info) : model.info;
  check_storable(model);
  complete(settings, model, task.data, saved.has_value());
  check_output("train", settings.output, settings.init, settings.run_folder);
  note_training(settings, task, model);
  stop_if_interrupted("preparing the first epoch");

  Trainer trainer(model.graph, task.training, &task.validation, task.loss, settings.train, threads);
  announce(settings, task, model, threads, terminal);
  if (saved) restore(trainer, model.graph, task.training.size(), *saved, settings, terminal);
  std::optional<RunLog> log = open_log(settings, task, saved);
  saved.reset();  // its memory
  TrainReporter reporter(terminal, settings, model, task.training.size(), trainer);
  if (log) reporter.write_to(*log, as_read, checksum(task.data));
  reporter.save();  // so that a run can be resumed from its first moment on
  const TrainOutcome outcome = trainer.run(reporter);
  if (outcome == TrainOutcome::diverged)
    fail("train", "the loss is no longer a number; try a smaller --lr (it is {})",
         settings.train.learning_rate);
  reporter.save();

  RunResult result;
  result.over = outcome != TrainOutcome::stopped;
  result.exit_code = result.over ? done : interrupt_exit_code();
  round_to_storage(model);
  if (!settings.init.empty() && trainer.epoch() == 0 && !trainer.within_epoch()) model.info = as_read;
  write_onnx(model, settings.output);
  if (!result.over)
    terminal.line("stopped; the network so far is in {}{}", settings.output,
                  settings.run_folder.empty()
                      ? ""
                      : fmt::format("; go on with `lwsvm train --resume {}`", settings.run_folder));
  result.values = quality_of(model, task, Regulariser(model.graph, settings.train.lambda), threads);
  if (const double objective = result.values["objective"]; result.over && !std::isfinite(objective))
    fail("train",
         "{} is written, but its objective is not a finite number: activations or scores are too large for "
         "float32; check how the pixels are normalised (--scale, --std), or try a smaller --lr",
         settings.output);
  result.values["epochs"] = trainer.epoch();
  result.values["seconds"] = trainer.seconds();
  result.values["model"] = settings.output;
  result.values["finished"] = result.over;
  if (log && result.over) write_end(*log, result.values);
  return result;
}

}  // namespace lwsvm::cli
