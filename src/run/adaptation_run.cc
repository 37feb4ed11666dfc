#include "run/adaptation_run.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "model/adapt_input.h"
#include "model/onnx_new_head.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "report/result_json.h"
#include "run/adapt_copies.h"
#include "run/adapt_deeper.h"
#include "run/adapt_network.h"
#include "run/adapt_stages.h"
#include "run/model_input.h"
#include "run/recording.h"
#include "run/refinement_run.h"
#include "run/run_folder.h"
#include "run/stop_policy.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;

// Below so many validation samples nothing tells whether a deeper change is better.
constexpr std::int64_t kEnoughToJudge = 40;

std::string default_adapted(const fs::path& input) {
  return (input.parent_path() / (input.stem().string() + ".adapted.onnx")).string();
}

// A fifth of a small data set, a tenth of others: what is judged by it is how deep to go, and all layers get
// it back.
TaskOptions with_validation(TaskOptions options, const DataSet& data) {
  constexpr std::size_t small = 1000;
  if (options.validation.empty() && data.validation.empty() && (data.train.size() < small || are_few(data)) &&
      recipe_of(data) == Recipe::other)
    options.validation = "0.2";
  return options;
}

// The moves of a run, for its summary.
class AdaptUpdates final : public RunObserver {
 public:
  void on_update(const LayerUpdate& u, double /*seconds*/) override { updates_.push_back(to_public(u)); }
  std::vector<RefineUpdate> take() { return std::move(updates_); }

 private:
  std::vector<RefineUpdate> updates_;
};

// The photos and, where older layers shall learn from parts of them that nobody asked for, these too: which
// they are is found out when a run begins, and known when it goes on.
std::shared_ptr<const DataSet> load_photos(const AdaptJob& job, const TaskOptions& asked, const Model& model,
                                           bool resumed, const RunContext& context, Messages& listener,
                                           int crops) {
  LoadOptions how = load_options(photo_settings(asked.photos, context), &model, context, !resumed);
  how.data_dir = asked.data_dir;
  how.crops = std::max(crops, crops_in(job.task.augment));
  how.messages = &listener;
  return std::make_shared<const DataSet>(load_data(asked.data, how));
}

// All but how it ended.
AdaptSummary summary_of(const Adaptation& run, const std::vector<int>& changed, bool all_samples) {
  const AdaptState& state = run.state;
  const DataSet& data = run.task.data;
  AdaptSummary summary;
  summary.replaced = state.replaced;
  summary.normalization = state.normalization;
  for (int y = 0; y < data.classes; ++y)
    summary.classes.push_back(data.class_names.empty() ? std::to_string(y)
                                                       : data.class_names[static_cast<std::size_t>(y)]);
  summary.lambda = state.lambda;
  if (state.cross_validated >= 0) summary.cross_validated = state.cross_validated;
  summary.head = state.head;
  summary.end = run.with_test(run.quality(changed));
  if (all_samples) summary.end.val_accuracy.reset();  // they were learned from
  for (const int node : changed) summary.layers.push_back(run.tail.graph.node(node).name);
  summary.moves = state.moves;
  summary.rejected = state.rejected;
  summary.feature_samples = run.samples.store().found() ? 0 : run.samples.store().size();
  summary.feature_seconds = state.feature_seconds;
  summary.head_seconds = state.head_seconds;
  return summary;
}

}  // namespace

Adapted run_adaptation(AdaptJob job, const RunContext& context, RunInput input) {
  const Stopwatch clock;
  Messages& messages = *context.messages;
  const std::string data_dir = context.data_dir.empty() ? "" : fs::absolute(context.data_dir).string();
  std::optional<SavedRun> saved = open_saved("adapt", job, {"--time-limit", "--output"});
  const RunOrigin origin(saved);
  const Depth depth = parse_depth(job.depth);
  std::string output;
  if (!input.in_memory) {
    if (job.input.empty()) fail("adapt", "which network? lwsvm adapt NETWORK.onnx --data FOLDER");
    if (job.output.empty()) job.output = default_adapted(job.input);
    output = origin.path(job.output);
    check_output("adapt", output, origin.path(job.input), job.run_folder);
  }
  if (!data_dir.empty()) job.task.data_dir = data_dir;
  const double time_limit = job.time_limit.empty() ? 0 : parse_duration(job.time_limit, "time-limit");

  AdaptState state = saved ? adapt_state_of(*saved) : AdaptState();
  Model model = saved         ? std::move(saved->model)
                : input.model ? std::move(*input.model)
                              : read_onnx(job.input, job.output_name, asked_size(job.task.photos));
  const TaskOptions asked = origin.task(job.task);
  std::shared_ptr<const DataSet> data = std::move(input.data);
  if (!data) data = load_photos(job, asked, model, saved.has_value(), context, messages, 0);
  stop_if_interrupted("loading the data");
  const Threads threads = start_threads(context.threads, messages);
  if (!saved) {
    const Copies chosen = choose_copies(job, depth, *data, static_cast<double>(model.graph.flops()),
                                        time_limit, threads.count(), !input.in_memory);
    state.copies = chosen.words;
    state.own_copies = !chosen.asked_for;
  }
  const Copies copies{state.own_copies ? state.copies : job.task.augment, !state.own_copies};
  if (state.own_copies && crops_in(copies.words) > 0)
    data = load_photos(job, asked, model, saved.has_value(), context, silence(), crops_in(copies.words));
  const Task task(with_validation(asked, *data), nullptr, data);
  if (saved) check_same_data(*saved, task);
  if (!saved) model = transplanted(job, model, task.data, threads, state, messages);
  const ModelInfo as_read = model.info;
  fit_input(model, {}, task.data, threads, messages);

  StopPolicy stop_policy(clock, time_limit);
  Recording recording(context, stop_policy);
  const double earlier = state.seconds;
  recording.recorder().count_seconds([&] { return earlier + clock.seconds(); });
  AdaptUpdates updates;
  recording.recorder().add(updates);

  const int head = new_head(model.graph);
  const int cut = choose_cut(model, head, depth,
                             AllSamples(task.data, parse_augmentation(copies.words, task.data)).size(),
                             parse_bytes(job.memory, "memory"));
  NetworkTail tail = make_tail(model.graph, cut);
  std::vector<float> start = tail.graph.parameters(), head_only;
  Refiner* refiner = nullptr;
  if (saved && saved->checkpoint.has("adapt.start")) {
    const auto stored = saved->checkpoint.get<float>("adapt.start", start.size());
    start.assign(stored.begin(), stored.end());
  }
  if (saved && saved->checkpoint.has("adapt.head_only")) {
    const auto stored = saved->checkpoint.get<float>("adapt.head_only", start.size());
    head_only.assign(stored.begin(), stored.end());
  }
  if (!job.run_folder.empty()) {
    const RunRecord record = record_of("adapt", job.run_folder, settings_of(job), origin, task);
    nlohmann::ordered_json first = run_record(record, task);
    first["class_names"] = task.data.class_names;
    recording.open(record, saved, first, model, as_read, [&](Checkpoint& checkpoint) {
      tail.put_back(model.graph);
      state.seconds = earlier + clock.seconds();
      put_adapt_state(state, checkpoint);
      checkpoint.put_view("adapt.start", std::span<const float>(start));
      if (!head_only.empty()) checkpoint.put_view("adapt.head_only", std::span<const float>(head_only));
      if (refiner) refiner->save(checkpoint);
    });
    if (!saved) recording.save();  // so that a run can be resumed from its first moment on
  }

  const Stopwatch feature_watch;
  const AdaptSamples samples(job, copies, model, cut, task, threads, context);
  state.feature_seconds += feature_watch.seconds();
  messages.line("features: {} numbers at '{}' for {} samples, {} ({})", format_count(samples.store().width()),
                model.graph.node(cut).name, format_count(samples.store().size()),
                samples.store().found() ? "found in the cache"
                                        : "computed in " + format_duration(feature_watch.seconds()),
                format_bytes(static_cast<double>(samples.store().bytes())));

  if (state.own_copies)
    messages.line(
        "older layers learn from copies of the photos, too ({}); --augment none: they do not, --augment ...: "
        "the new layer as well",
        state.copies);

  const MarginMatrix margins =
      job.balance ? balanced_margins(task.loss.margins(), task.data.train.labels()) : task.loss.margins();
  Adaptation run{job,      task,      threads,
                 messages, samples,   Loss(LossKind::hinge, margins),
                 model,    tail,      tail.tail_node(head),
                 start,    head_only, state};
  if (!state.head_solved) {
    solve_new_layer(run, recording.recorder());
    if (!job.run_folder.empty()) {
      tail.put_back(model.graph);
      write_onnx(model, fs::path(job.run_folder) / kHeadFile);
    }
    recording.save();
  }
  messages.line("new last layer: {}", to_string(state.head));

  const bool judged = samples.validation().size() >= kEnoughToJudge;
  if (depth != Depth::head && !judged)
    messages.line(
        "{} validation samples cannot tell whether more layers should change: the last one alone does",
        samples.validation().size());
  const std::vector<std::vector<int>> stages =
      judged ? plan_stages(model, tail, head, depth) : std::vector<std::vector<int>>();
  const DeeperTime time{stop_policy, time_limit > 0,
                        1.25 * (state.judging_seconds + state.solving_seconds) + 0.2};
  const std::string reason = refine_deeper(run, stages, time, saved, recording, refiner);
  const bool all_samples =
      can_learn_from_validation(run) && (state.improved > 0 ? state.moved_again : solve_with_everything(run));
  const std::vector<int> changed = changed_layers(run);
  tail.put_back(model.graph);
  note_adaptation(run, changed, all_samples, output, model);

  AdaptSummary summary = summary_of(run, changed, all_samples);
  summary.updates = updates.take();
  summary.finished = !interrupted() && reason != to_string(RefineEnd::stopped);
  summary.reason = reason;
  if (job.keep_input && !state.scaling.empty()) {
    model = without_scaling(model);
    model.info.metadata[kNormalizeKey] = state.scaling;
  }
  if (!input.in_memory) write_onnx(model, output);
  summary.model = output;
  summary.seconds = earlier + clock.seconds();
  if (summary.finished && reason != to_string(RefineEnd::out_of_time))
    recording.end(summary);
  else if (!job.run_folder.empty())
    messages.line("{}; go on with `lwsvm adapt --resume {}`", reason, job.run_folder);
  return {std::move(summary), std::move(model)};
}

}  // namespace lwsvm::run
