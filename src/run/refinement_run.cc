#include "run/refinement_run.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/interruptible_source.h"
#include "base/nearest.h"
#include "base/sample_part.h"
#include "base/sample_subset.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "lwsvm/frozen_prefix.h"
#include "lwsvm/refine_state.h"
#include "lwsvm/refiner.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/storage.h"
#include "report/result_json.h"
#include "run/cached_prefix.h"
#include "run/centre.h"
#include "run/judged_part.h"
#include "run/mirrored.h"
#include "run/model_input.h"
#include "run/quality.h"
#include "run/ranks.h"
#include "run/recording.h"
#include "run/refine_choices.h"
#include "run/run_folder.h"
#include "run/stop_policy.h"
#include "run/sweep_memory.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// What a run finds out when it begins, and must not find otherwise when it is resumed.
struct RefineFindings {
  std::string lambda;  // chosen, or as given
  JudgedPart judged;
  bool mirrored = false;  // sweeps draw mirrored images, too
  Quality start;
  std::string centre_file;  // where a centre at the start came from, absolute

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // run/settings.h
    visit("lambda", self.lambda);
    JudgedPart::fields(self.judged, visit);
    visit("mirrored", self.mirrored);
    visit("start", self.start);
    visit("centre_file", self.centre_file);
  }
};

// A resumed run need not choose again: what was found takes the place of what was asked.
json settings_with(const RefineJob& job, const RefineFindings& found) {
  json settings = settings_of(job);
  settings.update(settings_of(found));
  return settings;
}

RefineFindings findings_of(const SavedRun& saved) {
  RefineFindings found;
  try {
    take_settings(saved.settings, found);
  } catch (const json::exception& error) {
    fail_other_version(saved.folder, error.what());
  }
  return found;
}

template <typename T>
T pick(const char* option, const std::string& word, const std::vector<std::pair<std::string, T>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    names.push_back(name);
  }
  fail_unknown("refine", option, word, names);
}

// Networks of other programs: nobody knows what they were trained on, also after lwsvm refined them. Ours say
// so; validation samples that come apart from the training set are there for that purpose.
bool may_know_validation(const ModelInfo& info, const Task& task) {
  return task.validation.size() > 0 && task.data.validation.empty() && is_foreign(info);
}

std::string default_output(const fs::path& input) {
  return (input.parent_path() / (input.stem().string() + ".refined.onnx")).string();
}

// F as the paper has it, over all layers and around zero.
bool is_papers_objective(const RefineOptions& options) {
  return options.mode == RefineMode::paper || options.regularise_all;
}

// A resumed run (`found`) has the centre's weights in its checkpoint.
Centre centre_for(const RefineJob& job, const RefineOptions& options, const Model& model,
                  const RefineFindings* found, Messages& messages) {
  if (is_papers_objective(options)) {
    if (!job.centre.empty() && job.centre != "zero")
      fail("refine", "--mode paper regularises all layers around zero; leave out --centre {}", job.centre);
    return {};
  }
  if (found) return noted_centre(model.info, found->centre_file);
  return choose_centre(job.centre, model, options.layers, job.input, messages);
}

// All but lambda.
RefineOptions refine_options(const RefineJob& job, const Model& model, Messages& messages) {
  RefineOptions options = job.refine;
  options.layers = chosen_layers(job.layers, model, messages);
  options.as_stored = [&model](int node, std::span<float> weights) {
    return round_to_storage(model, node, weights);
  };
  options.moves = pick<Moves>(
      "moves", job.moves, {{"auto", Moves::automatic}, {"layers", Moves::layers}, {"sweeps", Moves::sweeps}});
  // With a time limit the time is used: the best network is kept in any case.
  constexpr int patience = 12;
  if (!options.patience && job.time_limit.empty() && options.moves != Moves::layers)
    options.patience = patience;
  options.search =
      pick<Search>("search", job.search,
                   {{"labels", Search::labels}, {"auto", Search::automatic}, {"full", Search::full}});
  options.keep = pick<Keep>("keep", job.keep, {{"best", Keep::best}, {"last", Keep::last}});
  options.mode =
      pick<RefineMode>("mode", job.mode, {{"standard", RefineMode::standard}, {"paper", RefineMode::paper}});
  options.memory = parse_bytes(job.memory, "memory");
  keep_sweeps_within_memory(model.graph, options, messages);
  tell_of_layers_beyond_memory(model.graph, options, messages);
  return options;
}

double seconds_of(const std::string& time_limit) {
  return time_limit.empty() ? 0 : parse_duration(time_limit, "time-limit");
}

// Names and options that cannot be are refused before the data are read and anything is computed.
void check_words(const RefineJob& job, const Model& model) {
  Messages silence;
  refine_options(job, model, silence).validate();
  given_lambda("refine", job.lambda);
  seconds_of(job.time_limit);
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

// Some samples of a source, or all of them.
class PartOf {
 public:
  PartOf(const SampleSource& source, std::int64_t count, std::uint64_t seed) : all_(source) {
    if (count > 0) some_.emplace(source, judged_samples(source.size(), count, seed));
  }
  const SampleSource& samples() const { return some_ ? *some_ : all_; }

 private:
  const SampleSource& all_;
  std::optional<SampleSubset> some_;
};

JudgedPart choose_what_is_judged(const RefineJob& job, const RefineOptions& options, const Model& model,
                                 const Task& task, double time_limit, const Threads& threads,
                                 Messages& messages) {
  if (time_limit <= 0 || options.moves == Moves::layers || options.mode == RefineMode::paper) return {};
  if (job.limit_counts_all_starts) return {};  // whoever asks for that compares objectives
  const JudgedPart judged = choose_judged_part(model, task, time_limit, threads);
  if (judged.training > 0)
    messages.line(
        "one look at all samples would take too much of {}: the objective is taken over {} of {} training "
        "samples, drawn at random, the accuracies over as many and over {} of {} validation samples; in "
        "sweeps, "
        "over all training samples",
        job.time_limit, format_count(judged.training), format_count(task.training.size()),
        format_count(judged.validation), format_count(task.validation.size()));
  if (!judged.test) messages.line("the test part is left out for the same reason: lwsvm eval looks at it");
  return judged;
}

// What the network is worth before anything is done to it. Its loss alone: lambda may depend on that.
struct Start {
  NetworkQuality judged;     // on the samples that moves are judged on
  double seconds = 0;        // that it took to see that
  std::int64_t samples = 0;  // of so many
};

Start measure_start(const RefineJob& job, const SampleSource& training, const SampleSource& validation,
                    const Model& model, const Task& task, const Threads& threads, Team& team) {
  const Stopwatch watch;
  Start start;
  start.judged = evaluate_start(model, SamplePart(training, team), SamplePart(validation, team), task.loss,
                                Regulariser(model.graph, 0), threads, team);
  start.seconds = watch.seconds();
  start.samples = training.size() + validation.size();
  if (!std::isfinite(start.judged.train_loss))
    fail("refine",
         "{}: the loss on the training samples is not a finite number: activations or scores are too large "
         "for float32; check how the pixels are normalised (--normalize, --scale)",
         job.input.empty() ? "the network" : job.input);
  return start;
}

// Where nothing is said of copies, and there are sweeps to draw them.
bool choose_mirrored(const RefineJob& job, const RefineOptions& options, const Model& model, const Task& task,
                     const JudgedPart& judged, const NetworkQuality& start, const Threads& threads,
                     Messages& messages, Team& team) {
  constexpr std::int64_t enough = 4000;
  if (!job.task.augment.empty() || options.moves == Moves::layers || options.mode == RefineMode::paper)
    return false;
  if (frozen_prefix(model.graph, options.layers) >= 0) return false;  // what is kept of it is worth more
  const std::int64_t samples = judged.training > 0 ? std::min(enough, judged.training) : enough;
  return mirrored_are_like_new(model, task, start, samples, threads, messages, team);
}

// What is decided by looking at the network and the data, or was when the saved run began.
struct Choices {
  RefineOptions options;
  std::unique_ptr<MirroredSamples> sweep_samples;  // that the options refer to, if they do
  Centre centre;                                   // without its weights, which are in the options
  RefineFindings found;
  std::optional<Start> start;  // absent: the checkpoint has it
};

Choices choose(const RefineJob& job, const std::optional<SavedRun>& saved, Model& model, const Task& task,
               double time_limit, const Threads& threads, StopPolicy& stop_policy, Messages& messages,
               Team& team) {
  RefineFindings found = saved ? findings_of(*saved) : RefineFindings();
  RefineOptions options = refine_options(job, model, messages);
  Centre centre = centre_for(job, options, model, saved ? &found : nullptr, messages);
  options.centre = std::move(centre.weights);
  if (!options.passes && job.time_limit.empty())
    options.passes = usual_passes(model.graph, options, task.training.size() / task.training.copies());
  if (centre.at_start && !centre.file.empty())
    found.centre_file = fs::absolute(centre.file).lexically_normal().string();
  if (!saved && team.is_alone())
    found.judged = choose_what_is_judged(job, options, model, task, time_limit, threads, messages);
  if (found.judged.training > 0) {
    options.judged = found.judged.training;
    options.moves = Moves::sweeps;
  }
  std::optional<Start> start;
  if (saved) {
    options.lambda = lambda_for(job, model, options, centre.at_start, {}, task, threads, messages, team);
  } else {
    const PartOf training(task.training, found.judged.training, options.seed);
    const PartOf validation(task.validation, found.judged.validation, options.seed);
    start = measure_start(job, training.samples(), validation.samples(), model, task, threads, team);
    options.lambda =
        lambda_for(job, model, options, centre.at_start, start->judged, task, threads, messages, team);
    start->judged.objective =
        make_regulariser(model.graph, options).value(model.graph.parameters()) + start->judged.train_loss;
    found.mirrored =
        choose_mirrored(job, options, model, task, found.judged, start->judged, threads, messages, team);
    const Stopwatch test_watch;
    found.start = with_test(start->judged, model, task, threads, found.judged.test, team);
    stop_policy.reserve(1.25 * test_watch.seconds() + 0.2);  // the same once more, when all is done
  }
  found.lambda = fmt::format("{}", options.lambda);
  std::unique_ptr<MirroredSamples> sweep_samples;
  if (found.mirrored) {
    sweep_samples = std::make_unique<MirroredSamples>(task, team);
    options.sweep_samples = &sweep_samples->own;
  }
  return {std::move(options), std::move(sweep_samples), std::move(centre), std::move(found), start};
}

nlohmann::ordered_json first_record(const RunRecord& record, const Task& task, const Choices& chosen) {
  nlohmann::ordered_json first = run_record(record, task);
  first["lambda"] = chosen.options.lambda;
  first["start"] = json(chosen.found.start);
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
  const Choices chosen = choose(job, saved, model, task, time_limit, threads, stop_policy, messages, team);
  const auto& [options, sweep_samples, centre, found, start] = chosen;

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
    recording.open(record, saved, first_record(record, task, chosen), model, as_read,
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
