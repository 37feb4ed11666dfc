#include "run/refine_plan.h"

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/nearest.h"
#include "base/sample_part.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "lwsvm/frozen_prefix.h"
#include "lwsvm/refiner.h"
#include "model/storage.h"
#include "report/result_json.h"
#include "run/refine_choices.h"
#include "run/settings.h"
#include "run/sweep_memory.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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

RefineStart measure_start(const RefineJob& job, const SampleSource& training, const SampleSource& validation,
                          const Model& model, const Task& task, const Threads& threads, Team& team) {
  const Stopwatch watch;
  RefineStart start;
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

}  // namespace

// A resumed run need not choose again: what was found takes the place of what was asked.
nlohmann::json settings_with(const RefineJob& job, const RefineFindings& found) {
  json settings = settings_of(job);
  settings.update(settings_of(found));
  return settings;
}

bool is_papers_objective(const RefineOptions& options) {
  return options.mode == RefineMode::paper || options.regularise_all;
}

double seconds_of(const std::string& time_limit) {
  return time_limit.empty() ? 0 : parse_duration(time_limit, "time-limit");
}

void check_words(const RefineJob& job, const Model& model) {
  Messages silence;
  refine_options(job, model, silence).validate();
  given_lambda("refine", job.lambda);
  seconds_of(job.time_limit);
}

RefinePlan make_plan(const RefineJob& job, const std::optional<SavedRun>& saved, Model& model,
                     const Task& task, double time_limit, const Threads& threads, StopPolicy& stop_policy,
                     Messages& messages, Team& team) {
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
  std::optional<RefineStart> start;
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

}  // namespace lwsvm::run
