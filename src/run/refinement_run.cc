#include "run/refinement_run.h"

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/interruptible_source.h"
#include "base/nearest.h"
#include "base/sample_subset.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "lwsvm/refine_state.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/storage.h"
#include "run/centre.h"
#include "run/model_input.h"
#include "run/refine_choices.h"
#include "run/run_folder.h"
#include "run/settings.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

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

// Of a solve that is exact, rounding can leave a gap a little below zero, which would be shown as -0.00000.
double gap_to_show(double gap) {
  return std::abs(gap) < 5e-6 ? 0.0 : gap;
}

class RefineReporter final : public RefineObserver {
 public:
  // `clock` runs since the command began.
  RefineReporter(Terminal& terminal, const RefineSettings& settings, const Model& model,
                 const Stopwatch& clock, double time_limit)
      : terminal_(terminal), settings_(settings), model_(model), clock_(clock), time_limit_(time_limit) {}

  void attach(Refiner& refiner, RunLog* log, const ModelInfo& as_read, std::uint32_t data_checksum) {
    refiner_ = &refiner;
    as_read_ = &as_read;
    log_ = log;
    data_checksum_ = data_checksum;
  }

  void on_open(int pass, const std::string& layer) override {
    pass_ = pass;
    layer_ = layer;
    const auto most =
        layer == "sweep" ? 1000 : 1000 * static_cast<std::uint64_t>(settings_.refine.max_epochs);
    bar_.emplace(terminal_, fmt::format("pass {} {}", pass, layer), most);
  }

  void on_race(double eta, double objective) override {
    terminal_.line("  eta {:<8.2g} objective {:.5f} on a probe after a short run", eta, objective);
  }

  void on_sweep_progress(const SweepProgress& p) override {
    if (bar_ && bar_->due())
      bar_->update(static_cast<std::uint64_t>(1000 * p.fraction),
                   fmt::format("loss {:.5f} eta {:.2g} step {:.2f}", p.loss, p.eta, p.gamma));
  }

  void on_progress(const SolveProgress& p) override {
    if (bar_ && bar_->due())
      bar_->update(static_cast<std::uint64_t>(1000 * (p.epoch + p.epoch_fraction)),
                   fmt::format("primal {:.5f} dual {:.5f} gap {:.5f} step {:.2f} epoch {}", p.primal, p.dual,
                               gap_to_show(p.gap), p.mean_step, p.epoch + 1));
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
    const std::string how = u.form == "sweep" ? fmt::format("eta {:<8.2g} step {:.2f}", u.eta, u.gamma)
                                              : fmt::format("{:<8} mu {:<8.3g} {:>2} epochs  gap {:.5f}",
                                                            u.form, u.mu, u.epochs, gap_to_show(u.gap));
    terminal_.line("pass {} {:<10} {}  F {:.5f} -> {:.5f}{}  {}  {}", u.pass, u.layer, how, u.before, u.after,
                   u.val_accuracy < 0 ? "" : fmt::format("  val {:.2f}%", 100 * u.val_accuracy),
                   format_duration(u.seconds), u.accepted ? u.reason : "rejected: " + u.reason);
    if (!log_) return;
    nlohmann::ordered_json record{
        {"type", "update"},   {"pass", u.pass},           {"layer", u.layer},
        {"form", u.form},     {"epoch", u.epochs},        {"seconds", refiner_->seconds()},
        {"primal", u.primal}, {"dual", u.dual},           {"gap", u.gap},
        {"mu", u.mu},         {"predicted", u.predicted}, {"actual", u.actual},
        {"before", u.before}, {"objective", u.after},     {"train_accuracy", u.train_accuracy}};
    if (u.val_accuracy >= 0) {
      record["val_accuracy"] = u.val_accuracy;
      record["val_loss"] = u.val_loss;
    }
    if (u.form == "sweep") {
      record["eta"] = u.eta;
      record["mean_step"] = u.gamma;
    }
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
    put_notes(*as_read_, checkpoint);
    save_run(checkpoint, settings_.run_folder, "refine", settings_of(settings_), model_, data_checksum_,
             log_->sync());
    timer_.restart();
  }

  // What there is is saved when the refiner has come back: within a race for eta, for one, it holds weights
  // that are only tried.
  bool stop_requested() override { return interrupted(); }

  // What must be done after the last move is not a move's to take.
  double seconds_left() override {
    return time_limit_ > 0 ? time_left() - reserved_ : std::numeric_limits<double>::infinity();
  }
  double time_left() const {
    return time_limit_ > 0 ? time_limit_ - earlier_ - clock_.seconds()
                           : std::numeric_limits<double>::infinity();
  }
  void reserve(double seconds) { reserved_ = seconds; }

  void count_earlier(double seconds) { earlier_ = seconds; }

 private:
  Terminal& terminal_;
  const RefineSettings& settings_;
  const Model& model_;
  const Stopwatch& clock_;
  double time_limit_, reserved_ = 0;
  Refiner* refiner_ = nullptr;
  const ModelInfo* as_read_ = nullptr;
  RunLog* log_ = nullptr;
  std::uint32_t data_checksum_ = 0;
  std::optional<Progress> bar_;
  int pass_ = 0;
  std::string layer_;
  double earlier_ = 0;  // seconds of other starts that count
  CheckpointTimer timer_;
};

std::string default_output(const fs::path& input) {
  return (input.parent_path() / (input.stem().string() + ".refined.onnx")).string();
}

// F as the paper has it, over all layers and around zero.
bool is_papers_objective(const RefineOptions& options) {
  return options.mode == RefineMode::paper || options.regularise_all;
}

// A resumed run has the centre's weights in its checkpoint.
Centre centre_for(const RefineSettings& settings, const RefineOptions& options, const Model& model,
                  bool resumed, Terminal& terminal) {
  if (is_papers_objective(options)) {
    if (!settings.centre.empty() && settings.centre != "zero")
      fail("refine", "--mode paper regularises all layers around zero; leave out --centre {}",
           settings.centre);
    return {};
  }
  if (resumed) return noted_centre(model.info, settings.centre_file);
  return choose_centre(settings.centre, model, options.layers, settings.input, terminal);
}

// All but lambda.
RefineOptions refine_options(const RefineSettings& settings, const Model& model, Terminal& terminal) {
  RefineOptions options = settings.refine;
  options.layers = chosen_layers(settings.layers, model, terminal);
  options.as_stored = [&model](int node, std::span<float> weights) {
    return round_to_storage(model, node, weights);
  };
  options.moves =
      pick<Moves>("moves", settings.moves,
                  {{"auto", Moves::automatic}, {"layers", Moves::layers}, {"sweeps", Moves::sweeps}});
  // With a time limit the time is used: the best network is kept in any case.
  constexpr int passes = 10, patience = 12;
  if (!options.passes && settings.time_limit.empty()) options.passes = passes;
  if (!options.patience && settings.time_limit.empty() && options.moves != Moves::layers)
    options.patience = patience;
  options.search =
      pick<Search>("search", settings.search,
                   {{"labels", Search::labels}, {"auto", Search::automatic}, {"full", Search::full}});
  options.keep = pick<Keep>("keep", settings.keep, {{"best", Keep::best}, {"last", Keep::last}});
  options.mode = pick<RefineMode>("mode", settings.mode,
                                  {{"standard", RefineMode::standard}, {"paper", RefineMode::paper}});
  options.memory = parse_bytes(settings.memory, "memory");
  return options;
}

void note_refining(const RefineSettings& settings, const Task& task, const RefineOptions& options,
                   const Centre& centre, const Regulariser& regulariser, Model& model) {
  model.info.lambda = options.lambda;
  if (is_papers_objective(options))
    forget_centre(model.info);
  else
    note_centre(centre, regulariser, settings.output, model);
  model.info.data = task.data.name;
  model.info.metadata["lwsvm.loss"] = settings.task.loss;
  note_split(task.choice, model.info);
}

void announce(const RefineSettings& settings, const Model& model, const Regulariser& regulariser,
              const Centre& centre, const Threads& threads, Terminal& terminal) {
  terminal.line("{}: {} parameters, {} of them opened, lambda {:.4g} around {}, {} threads", settings.input,
                format_count(static_cast<std::int64_t>(model.graph.parameters().size())),
                format_count(regulariser.size()), regulariser.lambda(),
                centre.at_start ? centre.file.string() : "zero", threads.count());
  terminal.line("start: {}", quality_line(settings.start));
}

std::optional<RunLog> open_log(const RefineSettings& settings, const Task& task, double lambda,
                               const std::optional<SavedRun>& saved) {
  if (settings.run_folder.empty()) return std::nullopt;
  if (saved) {
    RunLog log(settings.run_folder, saved->log_offset);
    if (const json asked = settings_of(settings); asked != saved->settings)
      log.write({{"type", "resume"}, {"settings", asked}});
    return log;
  }
  RunLog log(settings.run_folder);
  auto record = run_record("refine", settings_of(settings), task);
  record["lambda"] = lambda;
  record["start"] = settings.start;
  log.write(record);
  return log;
}

// Every accepted update changes weights, and no other does.
bool is_unchanged(const Refiner& refiner, const RefineOptions& options) {
  return options.keep == Keep::last ? refiner.updates() == refiner.rejected() : refiner.best_move() == 0;
}

std::string kept_text(const Refiner& refiner, const RefineOptions& options) {
  if (options.keep == Keep::last) return "the network of the last move is written";
  if (refiner.best_move() == 0) return "nothing was better than the start, which is written as it was";
  const std::string which =
      fmt::format("the best network, that of move {} of {}", refiner.best_move(), refiner.updates());
  return refiner.kept_share() == 1 ? which + ", is written"
                                   : fmt::format("{:.0f}% of the way from the start to {}, is written",
                                                 100 * refiner.kept_share(), which);
}

json result_of(const RefineSettings& settings, const Refiner& refiner, std::string_view end, json quality) {
  json result = std::move(quality);
  result["start"] = settings.start;
  result["updates"] = refiner.updates();
  result["rejected"] = refiner.rejected();
  result["rises"] = refiner.rises();
  result["passes"] = refiner.pass();
  result["seconds"] = refiner.seconds();
  result["dual_bytes"] = refiner.dual_bytes();
  result["end"] = end;
  result["lambda"] = refiner.regulariser().lambda();
  result["centre"] = refiner.regulariser().centre().empty() ? "zero" : "start";
  result["model"] = settings.output;
  return result;
}

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

void choose_what_is_judged(RefineSettings& settings, const RefineOptions& options, const Model& model,
                           const Task& task, double time_limit, const Threads& threads, Terminal& terminal) {
  settings.judged = {};
  if (time_limit <= 0 || options.moves == Moves::layers || options.mode == RefineMode::paper) return;
  if (settings.limit_counts_all_starts) return;  // whoever asks for that compares objectives
  settings.judged = choose_judged_part(model, task, time_limit, threads);
  if (settings.judged.training > 0)
    terminal.line(
        "one look at all samples would take too much of {}: the objective is taken over {} of {} training "
        "samples, drawn at random, the accuracies over as many and over {} of {} validation samples; in "
        "sweeps, "
        "over all training samples",
        settings.time_limit, format_count(settings.judged.training), format_count(task.training.size()),
        format_count(settings.judged.validation), format_count(task.validation.size()));
  if (!settings.judged.test)
    terminal.line("the test part is left out for the same reason: lwsvm eval looks at it");
}

}  // namespace

RunResult run_refinement(const Common& common, RefineSettings settings, Terminal& terminal) {
  const Stopwatch clock;
  const InterruptGuard guard;
  // Where the data lie is meant from the folder where the user is, and may change.
  const std::string data_dir = common.data_dir.empty() ? "" : fs::absolute(common.data_dir).string();
  std::optional<SavedRun> saved =
      open_saved("refine", settings, {"--passes", "--keep", "--time-limit", "--output"});
  if (settings.input.empty()) fail("refine", "which network? lwsvm refine NETWORK.onnx --data NAME");
  if (settings.output.empty()) settings.output = default_output(settings.input);
  check_output("refine", settings.output, settings.input, settings.run_folder);
  if (!data_dir.empty()) settings.task.data_dir = data_dir;

  Model model = saved ? std::move(saved->model) : read_onnx(settings.input, settings.output_name);
  const Task task(settings.task, &model.info);
  stop_if_interrupted("loading the data");
  if (saved) check_same_data(*saved, task);
  const Threads threads = start_threads(common, terminal);
  fit_input(model, settings.normalize, task.data, threads, terminal);
  const ModelInfo as_read = saved ? notes_of(saved->checkpoint, model.info) : model.info;
  RefineOptions options = refine_options(settings, model, terminal);
  Centre centre = centre_for(settings, options, model, saved.has_value(), terminal);
  options.centre = std::move(centre.weights);
  if (centre.at_start) settings.centre_file = fs::absolute(centre.file).lexically_normal().string();
  const double time_limit =
      settings.time_limit.empty() ? 0 : parse_duration(settings.time_limit, "time-limit");
  if (!saved) choose_what_is_judged(settings, options, model, task, time_limit, threads, terminal);
  const PartOf training(task.training, settings.judged.training, options.seed);
  const PartOf validation(task.validation, settings.judged.validation, options.seed);
  if (settings.judged.training > 0) {
    options.judged = settings.judged.training;
    options.moves = Moves::sweeps;
  }
  double test_seconds = 0;
  if (!saved) {
    const Stopwatch watch;
    NetworkQuality start = evaluate_start(model, training.samples(), validation.samples(), task.loss,
                                          Regulariser(model.graph, 0), threads);
    options.evaluation_seconds = watch.seconds();
    const double hinge = start.train_loss;  // lambda may depend on it
    if (!std::isfinite(hinge))
      fail("refine",
           "{}: the loss on the training samples is not a finite number: activations or scores are too large "
           "for float32; check how the pixels are normalised (--normalize, --scale)",
           settings.input);
    options.lambda = lambda_for(settings, model, options, centre.at_start, start, task, threads, terminal);
    const Regulariser regulariser = make_regulariser(model.graph, options);
    start.objective = regulariser.value(model.graph.parameters()) + hinge;
    options.start = start;
    const Stopwatch test_watch;
    settings.start = with_test(start, model, task, threads, settings.judged.test);
    test_seconds = test_watch.seconds();
  } else {
    options.lambda = lambda_for(settings, model, options, centre.at_start, {}, task, threads, terminal);
  }
  settings.lambda = fmt::format("{}", options.lambda);  // a resumed run need not choose again

  RefineReporter reporter(terminal, settings, model, clock, time_limit);
  reporter.reserve(1.25 * test_seconds + 0.2);
  constexpr const char* preparing = "preparing the first move";
  InterruptibleSource all_training(task.training, preparing), judging(validation.samples(), preparing);
  stop_if_interrupted(preparing);
  Refiner refiner(model.graph, all_training, &judging, task.loss, options, threads);
  all_training.disarm();  // from here on there is a network to write
  judging.disarm();
  if (!saved && may_know_validation(model.info, task))
    terminal.line(
        "the network may have been trained on the {} validation samples; they then flatter it as it is, "
        "and a better one may be rejected. Samples that it has not seen judge fairly: give them as x_val, "
        "y_val of an .npz (--data)",
        format_count(task.validation.size()));
  note_refining(settings, task, options, centre, refiner.regulariser(), model);
  announce(settings, model, refiner.regulariser(), centre, threads, terminal);

  std::optional<RunLog> log = open_log(settings, task, options.lambda, saved);
  reporter.attach(refiner, log ? &*log : nullptr, as_read, log ? checksum(task.data) : 0);
  if (saved) {
    check_refine_state(saved->checkpoint, model.graph.parameters().size(), options.layers.size(),
                       task.training.size() / task.training.copies());
    refiner.restore(std::move(saved->checkpoint));
    saved.reset();
    if (settings.limit_counts_all_starts) reporter.count_earlier(refiner.seconds());
    terminal.line("resuming in pass {}", refiner.pass() + 1);
  } else {
    reporter.save();  // so that a run can be resumed from its first moment on
  }
  const RefineEnd end = refiner.run(reporter);
  reporter.save();
  refiner.keep_chosen(reporter.seconds_left());
  if (is_unchanged(refiner, options))
    model.info = as_read;
  else
    note_regulariser(refiner.regulariser(), model);
  write_onnx(model, settings.output);

  RunResult result;
  result.over = end != RefineEnd::stopped;
  result.exit_code = result.over ? done : interrupt_exit_code();
  const bool unfinished = end == RefineEnd::stopped || end == RefineEnd::out_of_time;
  terminal.line("{}; {}{}", to_string(end), kept_text(refiner, options),
                unfinished && !settings.run_folder.empty()
                    ? fmt::format("; go on with `lwsvm refine --resume {}`", settings.run_folder)
                    : "");
  result.values = result_of(settings, refiner, to_string(end),
                            with_test(refiner.current(), model, task, threads, settings.judged.test));
  if (settings.judged.training > 0) result.values["judged_samples"] = settings.judged.training;
  result.values["seconds"] = clock.seconds();
  if (end == RefineEnd::out_of_time) result.values["time_limit"] = settings.time_limit;
  if (log && result.over) write_end(*log, result.values);
  return result;
}

}  // namespace lwsvm::cli
