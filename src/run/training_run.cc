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
#include "report/result_json.h"
#include "run/centre.h"
#include "run/model_input.h"
#include "run/quality.h"
#include "run/recording.h"
#include "run/run_folder.h"
#include "run/stop_policy.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;

std::string default_output(const TrainJob& job, const DataSet& data) {
  if (!job.run_folder.empty()) return (fs::path(job.run_folder) / "model.onnx").string();
  std::string name = (job.init.empty() ? job.arch : fs::path(job.init).stem().string()) + "-" + data.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
  return name.substr(0, 100) + ".onnx";
}

// The network to start from: that of the checkpoint, the one given, that of --init, or none yet.
std::optional<Model> given_model(const TrainJob& job, std::optional<SavedRun>& saved, RunInput& input) {
  if (saved) return std::move(saved->model);
  if (input.model) return std::move(input.model);
  if (job.init.empty()) return std::nullopt;
  return read_onnx(job.init, job.output_name, asked_size(job.task.photos));
}

Model new_model(const TrainJob& job, const Task& task) {
  const NormalizationOptions normalization = normalization_options(job.pixels, task.data);
  const Normalization constants = make_normalization(task.data, task.split.train, normalization);
  Model model;
  const ImageShape& shape = task.data.shape;
  model.graph = build_network(job.arch, {shape.channels, shape.height, shape.width}, task.data.classes,
                              constants.mean, constants.std, job.train.seed);
  model.info.arch = job.arch;
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
void complete(TrainJob& job, const Model& model, const DataSet& data, bool resumed) {
  if (!job.init.empty() && !job.lambda_given && model.info.lambda && !resumed)
    job.train.lambda = *model.info.lambda;
  if (job.train.learning_rate <= 0 && job.train.solver != kFrankWolfe)
    job.train.learning_rate = default_learning_rate(job.train.solver);
  if (job.output.empty()) job.output = default_output(job, data);
}

void note_training(const TrainJob& job, const Task& task, Model& model) {
  model.info.lambda = job.train.lambda;
  forget_centre(model.info);  // all layers, around zero
  model.info.data = task.data.name;
  model.info.classes = task.data.classes;
  model.info.class_names = task.data.class_names;
  note_split(task.choice, model.info);
  note_photos(task.data, model.info);
  model.info.metadata["lwsvm.loss"] = job.task.loss;
}

void announce(const TrainJob& job, const Task& task, const Model& model, const Threads& threads,
              Messages& messages) {
  messages.line("{}: {} training, {} validation, {} test samples of {}, {} classes", task.data.name,
                format_count(task.training.size()), format_count(task.validation.size()),
                format_count(task.test.size()), to_string(task.data.shape), task.data.classes);
  const std::string how =
      job.train.solver == kFrankWolfe
          ? "Deep Frank-Wolfe, no learning rate"
          : fmt::format("{} with learning rate {}", job.train.solver, job.train.learning_rate);
  messages.line("{}: {} parameters; {}, lambda {}, batch {}, {} threads",
                !job.init.empty() ? job.init : job.arch,
                format_count(static_cast<std::int64_t>(model.graph.parameters().size())), how,
                job.train.lambda, job.train.batch, threads.count());
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

// Throws Error where fewer epochs are asked of a run than it has done.
void restore(Trainer& trainer, Graph& graph, std::int64_t samples, const SavedRun& saved, const TrainJob& job,
             Messages& messages) {
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
  if (job.train.epochs < begun)
    fail("train", "{}: --epochs {} is less than the {} that the run has {}; give more, or begin another run",
         saved.folder, job.train.epochs, begun, begun > trainer.epoch() ? "begun" : "done");
  messages.line("resuming after {} of {} epochs", trainer.epoch(), job.train.epochs);
}

}  // namespace

Trained run_training(TrainJob job, const RunContext& context, RunInput input) {
  Messages& messages = *context.messages;
  // Where the data lie is meant from the folder where the user is, and may change.
  const std::string data_dir = context.data_dir.empty() ? "" : fs::absolute(context.data_dir).string();
  std::optional<SavedRun> saved =
      open_saved("train", job, {"--epochs", "--eval-every", "--time-limit", "--output"});
  const RunOrigin origin(saved);
  if (!job.time_limit.empty()) job.train.time_limit = parse_duration(job.time_limit, "time-limit");
  job.train.validate();
  if (!data_dir.empty()) job.task.data_dir = data_dir;
  std::optional<Model> given = given_model(job, saved, input);
  const bool begins_with_given = given && !saved;
  const Threads threads = start_threads(context.threads, messages);
  if (!input.data) input.data = load_for(given ? &*given : nullptr, origin.task(job.task), context);
  const Task task(origin.task(job.task), given ? &given->info : nullptr, std::move(input.data));
  stop_if_interrupted("loading the data");
  if (saved) check_same_data(*saved, task);
  Model model = given ? std::move(*given) : new_model(job, task);
  if (given)
    fit_input(model, job.pixels, task.data, threads, messages);
  else
    check_fit(model, task.data);
  const ModelInfo as_read = saved ? notes_of(saved->checkpoint, model.info) : model.info;
  check_storable(model);
  complete(job, model, task.data, begins_with_given);
  const std::string output = input.in_memory ? "" : origin.path(job.output);
  if (!input.in_memory) check_output("train", output, origin.path(job.init), job.run_folder);
  note_training(job, task, model);
  stop_if_interrupted("preparing the first epoch");

  Trainer trainer(model.graph, task.training, &task.validation, task.loss, job.train, threads);
  announce(job, task, model, threads, messages);
  if (saved) restore(trainer, model.graph, task.training.size(), *saved, job, messages);
  StopPolicy stop_policy;
  Recording recording(context, stop_policy);
  if (!job.run_folder.empty()) {
    const RunRecord record = record_of("train", job.run_folder, settings_of(job), origin, task);
    recording.open(record, saved, run_record(record, task), model, as_read, [&](Checkpoint& checkpoint) {
      trainer.save(checkpoint);
      save_unrounded(checkpoint, model);
    });
  }
  saved.reset();     // its memory
  recording.save();  // so that a run can be resumed from its first moment on
  recording.recorder().begin_training(job.train, task.training.size());
  const TrainOutcome outcome = trainer.run(recording.recorder());
  if (outcome == TrainOutcome::diverged)
    fail("train", "the loss is no longer a number; try a smaller --lr (it is {})", job.train.learning_rate);
  recording.save();

  TrainSummary summary;
  summary.finished = outcome != TrainOutcome::stopped;
  round_to_storage(model);
  const bool unchanged = trainer.epoch() == 0 && !trainer.within_epoch();
  if (unchanged && (!job.init.empty() || (input.in_memory && given))) model.info = as_read;
  if (!input.in_memory) write_onnx(model, output);
  if (!summary.finished && !input.in_memory)
    messages.line(
        "stopped; the network so far is in {}{}", output,
        job.run_folder.empty() ? "" : fmt::format("; go on with `lwsvm train --resume {}`", job.run_folder));
  summary.end = quality_of(model, task, Regulariser(model.graph, job.train.lambda), threads);
  if (summary.finished && !std::isfinite(summary.end.objective))
    fail(
        "train",
        "{} objective is not a finite number: activations or scores are too large for float32; check how the "
        "pixels are normalised (--scale, --std), or try a smaller --lr",
        input.in_memory ? "the network's" : output + " is written, but its");
  summary.epochs = trainer.epoch();
  summary.seconds = trainer.seconds();
  summary.model = output;
  if (summary.finished) recording.end(summary);
  return {std::move(summary), std::move(model)};
}

}  // namespace lwsvm::run
