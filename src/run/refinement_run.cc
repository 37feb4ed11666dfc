#include "run/refinement_run.h"

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/interruptible_source.h"
#include "base/sample_part.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "lwsvm/frozen_prefix.h"
#include "lwsvm/refine_state.h"
#include "lwsvm/refiner.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "report/result_json.h"
#include "run/cached_prefix.h"
#include "run/centre.h"
#include "run/judged_part.h"
#include "run/model_input.h"
#include "run/quality.h"
#include "run/ranks.h"
#include "run/recording.h"
#include "run/refine_plan.h"
#include "run/run_folder.h"
#include "run/stop_policy.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Networks of other programs: nobody knows what they were trained on, also after lwsvm refined them. Ours say
// so; validation samples that come apart from the training set are there for that purpose.
bool may_know_validation(const ModelInfo& info, const Task& task) {
  return task.validation.size() > 0 && task.data.validation.empty() && is_foreign(info);
}

std::string default_output(const fs::path& input) {
  return (input.parent_path() / (input.stem().string() + ".refined.onnx")).string();
}

// What several ranks cannot do together.
void check_for_ranks(const RefineJob& job) {
  if (job.mode == "paper") fail("refine", "--mode paper is made for one rank; leave out mpirun");
}

// Of the ranks of a machine one loads the data before the others: photos that it decodes are then in the
// cache.
std::shared_ptr<const DataSet> load_in_turn(const Model& model, const TaskOptions& options,
                                            const RunContext& context) {
  Team& team = *context.team;
  if (!team.is_first_here()) wait_for_all(team);
  std::shared_ptr<const DataSet> data = load_for(&model, options, context);
  if (team.is_first_here()) wait_for_all(team);
  return data;
}

void note_refining(const RefineJob& job, const Task& task, const RefineOptions& options, const Centre& centre,
                   const Regulariser& regulariser, const std::string& output, Model& model) {
  model.info.lambda = options.lambda;
  if (is_papers_objective(options))
    forget_centre(model.info);
  else
    note_centre(centre, regulariser, output, model);
  model.info.data = task.data.name;
  model.info.metadata["lwsvm.loss"] = job.task.loss;
  note_split(task.choice, model.info);
  note_photos(task.data, model.info);
}

void announce(const RefineJob& job, const Model& model, const Regulariser& regulariser, const Centre& centre,
              const Quality& start, const Threads& threads, Messages& messages) {
  const auto named = [](const std::string& file) { return file.empty() ? "the network as it is" : file; };
  messages.line("{}: {} parameters, {} of them opened, lambda {:.4g} around {}, {} threads", named(job.input),
                format_count(static_cast<std::int64_t>(model.graph.parameters().size())),
                format_count(regulariser.size()), regulariser.lambda(),
                centre.at_start ? named(centre.file.string()) : "zero", threads.count());
  messages.line("start: {}", to_string(start));
}

// Every accepted update changes weights, and no other does.
bool is_unchanged(const Refiner& refiner, const RefineOptions& options) {
  return options.keep == Keep::last ? refiner.updates() == refiner.rejected() : refiner.best_move() == 0;
}

std::string kept_text(const Refiner& refiner, const RefineOptions& options, const char* kept) {
  if (options.keep == Keep::last) return fmt::format("the network of the last move is {}", kept);
  if (refiner.best_move() == 0)
    return fmt::format("nothing was better than the start, which is {} as it was", kept);
  const std::string which =
      fmt::format("the best network, that of move {} of {}", refiner.best_move(), refiner.updates());
  return refiner.kept_share() == 1 ? fmt::format("{}, is {}", which, kept)
                                   : fmt::format("{:.0f}% of the way from the start to {}, is {}",
                                                 100 * refiner.kept_share(), which, kept);
}

RefineSummary summary_of(const Refiner& refiner, RefineEnd end) {
  RefineSummary summary;
  summary.moves = refiner.updates();
  summary.rejected = refiner.rejected();
  summary.rises = refiner.rises();
  summary.passes = refiner.pass();
  summary.dual_bytes = refiner.dual_bytes();
  summary.finished = end != RefineEnd::stopped;
  summary.reason = to_string(end);
  summary.lambda = refiner.regulariser().lambda();
  summary.centre = refiner.regulariser().centre().empty() ? "zero" : "start";
  return summary;
}

// The moves of a run, for its summary.
class UpdateList final : public RunObserver {
 public:
  void on_update(const LayerUpdate& u, double /*seconds*/) override { updates_.push_back(to_public(u)); }
  std::vector<RefineUpdate> take() { return std::move(updates_); }

 private:
  std::vector<RefineUpdate> updates_;
};

nlohmann::ordered_json first_record(const RunRecord& record, const Task& task, const RefinePlan& plan) {
  nlohmann::ordered_json first = run_record(record, task);
  first["lambda"] = plan.options.lambda;
  first["start"] = json(plan.found.start);
  return first;
}

// What another rank than the first has written beside the checkpoint, if a layer was open.
std::optional<Checkpoint> load_part(const SavedRun& saved, Team& team) {
  if (!saved.checkpoint.has("solve.mu")) return std::nullopt;
  return Checkpoint::load(part_path(saved.folder, saved.serial, team.rank()));
}

// Throws Error where the checkpoint does not fit the network and the data.
void restore(Refiner& refiner, SavedRun saved, const Model& model, const Task& task,
             const RefineOptions& options, Team& team, Messages& messages) {
  check_refine_state(saved.checkpoint, model.graph.parameters().size(), options.layers.size(),
                     task.training.size() / task.training.copies());
  if (saved.ranks != team.size()) {
    messages.line("the run was made by {} ranks and goes on with {}: a layer that was open is begun anew",
                  saved.ranks, team.size());
    refiner.restore_with(std::move(saved.checkpoint), std::nullopt);
    return;
  }
  if (team.is_first()) {
    refiner.restore(std::move(saved.checkpoint));
    return;
  }
  std::optional<Checkpoint> own = load_part(saved, team);
  refiner.restore_with(std::move(saved.checkpoint), std::move(own));
}

}  // namespace

RefineUpdate to_public(const LayerUpdate& update) {
  RefineUpdate result;
  result.pass = update.pass;
  result.layer = update.layer;
  result.form = update.form;
  result.accepted = update.accepted;
  result.reason = update.reason;
  result.before = update.before;
  result.after = update.after;
  result.gap = update.gap;
  result.train_accuracy = update.train_accuracy;
  if (update.val_accuracy >= 0) result.val_accuracy = update.val_accuracy;
  result.seconds = update.seconds;
  result.mu = update.mu;
  result.epochs = update.epochs;
  result.radius = update.eta;
  result.mean_step = update.gamma;
  return result;
}

Refined run_refinement(RefineJob job, const RunContext& context, RunInput input) {
  const Stopwatch clock;
  Messages& messages = *context.messages;
  Team& team = *context.team;
  // Where the data lie is meant from the folder where the user is, and may change.
  const std::string data_dir = context.data_dir.empty() ? "" : fs::absolute(context.data_dir).string();
  std::optional<SavedRun> saved =
      open_saved("refine", job, {"--passes", "--keep", "--time-limit", "--output"});
  const RunOrigin origin(saved);
  std::string output;
  if (!input.in_memory) {
    if (job.input.empty()) fail("refine", "which network? lwsvm refine NETWORK.onnx --data NAME");
    if (job.output.empty()) job.output = default_output(job.input);
    output = origin.path(job.output);
    if (team.is_first()) check_output("refine", output, origin.path(job.input), job.run_folder);
  }
  if (!data_dir.empty()) job.task.data_dir = data_dir;

  Model model = saved         ? std::move(saved->model)
                : input.model ? std::move(*input.model)
                              : read_onnx(job.input, job.output_name, asked_size(job.task.photos));
  if (!saved) check_words(job, model);
  if (!team.is_alone()) check_for_ranks(job);
  if (!input.data) input.data = load_in_turn(model, origin.task(job.task), context);
  std::optional<Task> held(std::in_place, origin.task(job.task), &model.info, std::move(input.data));
  stop_if_interrupted("loading the data");
  if (saved) check_same_data(*saved, *held);
  const Threads threads = start_threads(context.threads, messages);
  fit_input(model, job.pixels, held->data, threads, messages);
  const ModelInfo as_read = saved ? notes_of(saved->checkpoint, model.info) : model.info;
  const double time_limit = seconds_of(job.time_limit);
  StopPolicy stop_policy(clock, time_limit);
  stop_policy.reserve(0.2);
  check_same_start(team, settings_of(job), model, *held);
  if (!team.is_alone()) held.emplace(origin.task(job.task), &model.info, own_samples(*held, team));
  const Task& task = *held;
  const RefinePlan plan =
      make_plan(job, saved, model, task, time_limit, threads, stop_policy, messages, team);
  const auto& [options, sweep_samples, centre, found, start] = plan;

  constexpr const char* preparing = "preparing the first move";
  const PartOf validation(task.validation, found.judged.validation, options.seed);
  const SamplePart own_training(task.training, team), own_validation(validation.samples(), team);
  InterruptibleSource training(own_training, preparing), judging(own_validation, preparing);
  stop_if_interrupted(preparing);
  RefineOptions with_prefix = options;
  CachedPrefix prefix(job, model, task, found.judged, threads, context);
  with_prefix.prefix = [&prefix](int node, bool of_training) { return prefix.part(node, of_training); };
  if (team.is_alone()) {  // several ranks keep what their samples need in any case
    std::optional<double> seconds_per_look;
    if (start) seconds_per_look = start->seconds / static_cast<double>(start->samples);
    prefix.set_time(seconds_per_look, stop_policy.seconds_left());
    with_prefix.keep_prefix = prefix.can_keep(
        frozen_prefix(model.graph, options.layers.empty() ? refinable_layers(model.graph) : options.layers));
  }
  Refiner refiner(model.graph, training, &judging, task.loss, with_prefix, threads, team);
  if (start) refiner.set_start(start->judged, start->seconds);
  training.disarm();  // from here on there is a network to write
  judging.disarm();
  if (!saved && may_know_validation(model.info, task))
    messages.line(
        "the network may have been trained on the {} validation samples; they then flatter it as it is, "
        "and a better one may be rejected. Samples that it has not seen judge fairly: give them as x_val, "
        "y_val of an .npz (--data)",
        format_count(task.validation.size()));
  note_refining(job, task, options, centre, refiner.regulariser(), output, model);
  if (!team.is_alone()) messages.line("{} ranks: {}", team.size(), fmt::join(names_of(team), "; "));
  announce(job, model, refiner.regulariser(), centre, found.start, threads, messages);

  Recording recording(context, stop_policy);
  recording.recorder().count_seconds([&] { return refiner.seconds(); });
  UpdateList updates;
  recording.recorder().add(updates);
  if (!job.run_folder.empty()) {
    RunRecord record = record_of("refine", job.run_folder, settings_with(job, found), origin, task);
    record.ranks = team.size();
    if (saved) record.serial = saved->serial;
    recording.open(record, saved, first_record(record, task, plan), model, as_read,
                   [&](Checkpoint& checkpoint) {
                     team.is_first() ? refiner.save(checkpoint) : refiner.save_own(checkpoint);
                   });
  }
  if (saved) {
    restore(refiner, std::move(*saved), model, task, options, team, messages);
    saved.reset();
    if (job.limit_counts_all_starts) stop_policy.count_earlier(refiner.seconds());
    messages.line("resuming in pass {}", refiner.pass() + 1);
  } else {
    recording.save();  // so that a run can be resumed from its first moment on
  }
  recording.recorder().begin_refining(options);
  const RefineEnd end = refiner.run(recording.recorder());
  recording.save();
  refiner.keep_chosen(stop_policy.seconds_left());
  if (is_unchanged(refiner, options))
    model.info = as_read;
  else
    note_regulariser(refiner.regulariser(), model);
  check_same_weights(team, model.graph);
  if (!input.in_memory && team.is_first()) write_onnx(model, output);

  const bool unfinished = end == RefineEnd::stopped || end == RefineEnd::out_of_time;
  RefineSummary summary = summary_of(refiner, end);
  summary.kept = kept_text(refiner, options, input.in_memory ? "kept" : "written");
  messages.line("{}; {}{}", summary.reason, summary.kept,
                unfinished && !job.run_folder.empty()
                    ? fmt::format("; go on with `lwsvm refine --resume {}`", job.run_folder)
                    : "");
  summary.start = found.start;
  summary.end = with_test(refiner.current(), model, task, threads, found.judged.test, team);
  if (!team.is_alone()) recording.write(times_record(team));
  summary.updates = updates.take();
  summary.seconds = clock.seconds();
  if (found.judged.training > 0) summary.judged_samples = found.judged.training;
  if (end == RefineEnd::out_of_time) summary.time_limit = job.time_limit;
  summary.model = output;
  if (summary.finished) recording.end(summary);
  return {std::move(summary), std::move(model)};
}

}  // namespace lwsvm::run
