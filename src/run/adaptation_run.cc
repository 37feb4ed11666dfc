#include "run/adaptation_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "data/sha256.h"
#include "engine/instruction_set.h"
#include "lwsvm/refine_state.h"
#include "lwsvm/refiner.h"
#include "model/adapt_input.h"
#include "model/onnx_new_head.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/storage.h"
#include "run/adapt_head.h"
#include "run/adapt_pixels.h"
#include "run/adapt_stages.h"
#include "run/centre.h"
#include "run/feature_store.h"
#include "run/model_input.h"
#include "run/quality.h"
#include "run/recording.h"
#include "run/refine_choices.h"
#include "run/refinement_run.h"
#include "run/result_json.h"
#include "run/run_folder.h"
#include "run/stop_policy.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Below so many validation samples nothing tells whether a deeper change is better.
constexpr std::int64_t kEnoughToJudge = 40;

// What a run has found out and come to; a resumed one goes on from there.
struct AdaptState {
  std::string replaced, normalization;
  std::string scaling;  // of the users' pixels, as metadata have it; empty: the network carries its own
  bool head_solved = false;
  double lambda = 0, cross_validated = -1;
  double deep_lambda = 0;  // of old layers, in the last stage that was better
  double seconds = 0, feature_seconds = 0, head_seconds = 0;
  std::size_t stage = 0;     // the one under way, or that comes next
  std::size_t improved = 0;  // stages after which the network was better
  bool stages_over = false;
  int moves = 0, rejected = 0;
  Quality head;

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // run/settings.h
    visit("replaced", self.replaced);
    visit("normalization", self.normalization);
    visit("scaling", self.scaling);
    visit("head_solved", self.head_solved);
    visit("chosen_lambda", self.lambda);
    visit("cross_validated", self.cross_validated);
    visit("deep_lambda", self.deep_lambda);
    visit("seconds", self.seconds);
    visit("feature_seconds", self.feature_seconds);
    visit("head_seconds", self.head_seconds);
    visit("stage", self.stage);
    visit("improved", self.improved);
    visit("stages_over", self.stages_over);
    visit("moves", self.moves);
    visit("rejected", self.rejected);
    visit("head", self.head);
  }
};

void put_adapt_state(const AdaptState& state, Checkpoint& checkpoint) {
  checkpoint.put("adapt.state", json::to_msgpack(settings_of(state)));
}

AdaptState adapt_state_of(const SavedRun& saved) {
  AdaptState state;
  try {
    const auto bytes = saved.checkpoint.get<std::uint8_t>("adapt.state");
    take_settings(json::from_msgpack(bytes.begin(), bytes.end()), state);
  } catch (const json::exception& error) {
    fail_other_version(saved.folder, error.what());
  }
  return state;
}

std::string default_adapted(const fs::path& input) {
  return (input.parent_path() / (input.stem().string() + ".adapted.onnx")).string();
}

// A fifth of a small data set, a tenth of others: what is judged by it is how deep to go, and the last layer
// gets it back.
TaskOptions with_validation(TaskOptions options, const DataSet& data) {
  constexpr std::size_t small = 1000;
  if (options.validation.empty() && data.validation.empty() && data.train.size() < small &&
      recipe_of(data) == Recipe::other)
    options.validation = "0.2";
  return options;
}

// The network with a new last layer, and with what its users did to their pixels in front of it.
Model transplanted(const AdaptJob& job, const Model& original, const DataSet& data, const Threads& threads,
                   AdaptState& state, Messages& messages) {
  for (const std::string& note : original.info.notes) messages.line("{}", note);
  const Shape sample{data.shape.channels, data.shape.height, data.shape.width};
  const std::vector<int> inputs = original.graph.inputs();
  if (inputs.size() != 1) fail("adapt", "the network has {} inputs; one is expected", inputs.size());
  const Shape& wanted = original.graph.node(inputs[0]).shape;
  if (!can_take(wanted, sample))
    fail("adapt", "the network takes {} inputs but {} has {}", to_string(wanted), data.name,
         to_string(sample));
  const OldHead head = find_old_head(original);
  Model model = with_new_head(original, head, data.classes);
  state.replaced = head.layer;
  messages.line("last layer: {} '{}'{}{}; in its place {} x {} weights for {} classes", head.kind, head.layer,
                head.dropped.empty() ? "" : fmt::format(" (and {} after it)", fmt::join(head.dropped, ", ")),
                head.averaged ? fmt::format(", on the average of {}", to_string(head.shape)) : "",
                data.classes, format_count(head.width), data.classes);
  const PixelChoice pixels = choose_pixels(original, model, job.pixels, data, job.seed, threads, messages);
  state.normalization = pixels.name;
  if (pixels.options.given()) {
    const Normalization constants = make_normalization(data, {}, pixels.options);
    state.scaling = normalization_text(pixels.options);
    model = with_scaling(model, {constants.mean, constants.std, constants.reversed});
    NormalizationOptions none;
    none.scale = 1.0;
    model.info.metadata[kNormalizeKey] = normalization_text(none);
  }
  forget_centre(model.info);
  model.info.arch.clear();
  model.info.lambda.reset();
  model.info.classes = data.classes;
  model.info.class_names = data.class_names;
  model.info.data = data.name;
  note_photos(data, model.info);
  model.info.metadata["lwsvm.loss"] = "svm";
  model.info.metadata["lwsvm.adapted_from"] = fs::path(job.input).filename().string();
  return model;
}

// What the features depend on.
std::string feature_key(const Model& model, int cut, const Task& task, const AdaptJob& job) {
  Sha256 hash;
  const auto add = [&](std::string_view text) {
    const std::uint64_t size = text.size();
    hash.update(&size, sizeof size);
    hash.update(text.data(), text.size());
  };
  Model frozen = model;  // without what is above the cut, which changes
  frozen.info = {};
  for (int i = cut + 1; i < static_cast<int>(frozen.graph.nodes().size()); ++i) {
    const ParameterRange range = frozen.graph.node(i).trained;
    if (frozen.graph.node(i).has_weights() && why_not_storable(frozen, i).empty())
      std::fill_n(frozen.graph.parameters().begin() + range.begin, range.size, 0.0f);
  }
  add(to_onnx_bytes(frozen));
  add(model.graph.node(cut).name);
  add(fmt::format("{}", checksum(task.data)));
  add(task.data.train.holds_bytes() ? "bytes" : "floats");
  add(job.task.augment);
  add(instruction_set_name());
  return hash.hex();
}

// The samples as the end of the network sees them.
class AdaptSamples {
 public:
  AdaptSamples(const AdaptJob& job, const Model& model, int cut, const Task& task, const Threads& threads,
               const RunContext& context)
      : all_(task.data, parse_augmentation(job.task.augment, task.data.shape)),
        cache_(context.cache, context.cache_limit),
        store_(model.graph, cut, all_, options(job, model, cut, task, context, all_, cache_), threads),
        training_(view(task.split.train, true)),
        validation_(task.data.validation.empty() ? view(task.split.validation, false)
                                                 : FeatureView(store_, all_, all_.of_validation())),
        left_out_(view(task.split.validation, true)),
        test_(store_, all_, all_.of_test()) {}

  const FeatureStore& store() const { return store_; }
  const SampleSource& training() const { return training_; }
  const SampleSource& validation() const { return validation_; }
  const SampleSource& left_out() const { return left_out_; }  // of the training set, with their copies
  const SampleSource& test() const { return test_; }

 private:
  static FeatureOptions options(const AdaptJob& job, const Model& model, int cut, const Task& task,
                                const RunContext& context, const AllSamples& all, const CacheFolder& cache) {
    FeatureOptions options;
    options.half = job.half_features;
    options.memory = parse_bytes(job.memory, "memory") / 2;
    options.cache = &cache;
    options.key = cache.usable() ? feature_key(model, cut, task, job) : std::string(64, '0');
    options.description = fmt::format("{} samples of {} at '{}' of {}", all.size(), task.data.name,
                                      model.graph.node(cut).name, fs::path(job.input).filename().string());
    options.progress = [&context](std::int64_t done, std::int64_t total) {
      context.messages->progress("features", static_cast<std::uint64_t>(done),
                                 static_cast<std::uint64_t>(total));
    };
    return options;
  }
  FeatureView view(const std::vector<std::int32_t>& samples, bool transformed) const {
    return {store_, all_, all_.of_training(samples, transformed), transformed ? all_.transforms() : 1};
  }

  AllSamples all_;
  CacheFolder cache_;
  FeatureStore store_;
  FeatureView training_, validation_, left_out_, test_;
};

// The moves of a run, for its summary.
class AdaptUpdates final : public RunObserver {
 public:
  void on_update(const LayerUpdate& u, double /*seconds*/) override { updates_.push_back(to_public(u)); }
  std::vector<RefineUpdate> take() { return std::move(updates_); }

 private:
  std::vector<RefineUpdate> updates_;
};

// Everything that a run works with once the features are there.
struct Adaptation {
  const AdaptJob& job;
  const Task& task;
  const Threads& threads;
  Messages& messages;
  const AdaptSamples& samples;
  Loss loss;
  Model& model;
  NetworkTail& tail;
  int head;                         // of the tail
  const std::vector<float>& start;  // the tail's parameters as they were, the new layer's zero
  AdaptState& state;

  bool own_validation() const { return !task.data.validation.empty(); }

  HeadOptions head_options() const {
    HeadOptions options;
    options.balance = job.balance;
    options.batch = job.batch;
    options.seed = job.seed;
    options.stop_requested = interrupted;
    return options;
  }

  HeadRows rows(const SampleSource& source) const {
    return head_rows(tail.graph, tail.graph.node(head).inputs[0], source, threads);
  }

  void set_head(const LinearModel& found) {
    const ParameterRange range = tail.graph.node(head).trained;
    LWSVM_CHECK(range.size == std::ssize(found.weights) + std::ssize(found.biases));
    const std::span<float> w(tail.graph.parameters().data() + range.begin,
                             static_cast<std::size_t>(range.size));
    std::copy(found.weights.begin(), found.weights.end(), w.begin());
    std::copy(found.biases.begin(), found.biases.end(), w.begin() + std::ssize(found.weights));
    round_head();
  }

  void round_head() {
    const ParameterRange range = tail.graph.node(head).trained;
    round_to_storage(model, tail.node_of[static_cast<std::size_t>(head)],
                     {tail.graph.parameters().data() + range.begin, static_cast<std::size_t>(range.size)});
  }

  // Of the new layer around zero, and of the old ones around what they were.
  double regulariser(const std::vector<int>& changed) const {
    std::vector<int> old;
    std::ranges::copy_if(changed, std::back_inserter(old), [this](int node) { return node != head; });
    const std::vector<int> last{head};
    double value = Regulariser(tail.graph, state.lambda, last).value(tail.graph.parameters());
    if (!old.empty())
      value += Regulariser(tail.graph, state.deep_lambda, old, start).value(tail.graph.parameters());
    return value;
  }

  NetworkQuality quality(const std::vector<int>& changed) const {
    Evaluator evaluator(tail.graph, threads);
    const LossSums sums = evaluator.evaluate(samples.training(), loss);
    NetworkQuality found;
    found.objective = regulariser(changed) + sums.mean_loss();
    found.train_loss = sums.mean_loss();
    found.train_accuracy = sums.accuracy();
    if (samples.validation().size() > 0) {
      const LossSums validation = evaluator.evaluate(samples.validation(), loss);
      found.val_accuracy = validation.accuracy();
      found.val_loss = validation.mean_loss();
    }
    return found;
  }

  Quality with_test(const NetworkQuality& known) const {
    Quality result{known.objective, known.train_accuracy, {}, {}};
    if (known.val_accuracy >= 0) result.val_accuracy = known.val_accuracy;
    if (samples.test().size() > 0)
      result.test_accuracy = Evaluator(tail.graph, threads).evaluate(samples.test(), loss).accuracy();
    return result;
  }
};

// The new layer on the training part, and lambda.
void solve_new_layer(Adaptation& run, Recorder& recorder) {
  const Stopwatch watch;
  recorder.on_open(1, run.tail.graph.node(run.head).name);
  const HeadRows training = run.rows(run.samples.training());
  AdaptState& state = run.state;
  if (const std::optional<double> given = given_lambda("adapt", run.job.lambda)) {
    state.lambda = *given;
  } else {
    std::optional<HeadRows> judges;
    if (run.own_validation()) judges = run.rows(run.samples.validation());
    const HeadRows everything = judges || run.samples.left_out().size() == 0
                                    ? HeadRows()
                                    : joined(training, run.rows(run.samples.left_out()));
    const HeadChoice choice =
        choose_head_lambda(everything.rows() > 0 ? everything : training, judges ? &*judges : nullptr,
                           run.loss.margins(), run.head_options(), run.threads);
    stop_if_interrupted("choosing lambda");
    state.lambda = choice.lambda;
    state.cross_validated = choice.accuracy;
    std::string trials;
    for (const HeadTrial& trial : choice.trials)
      trials +=
          fmt::format("{}{:.2f}% at {:.2g}", trials.empty() ? "" : ", ", 100 * trial.accuracy, trial.lambda);
    run.messages.line("lambda {:.3g} by {} ({}{})", choice.lambda,
                      choice.folds > 1 ? fmt::format("{} folds of the training set", choice.folds)
                                       : std::string("the validation part"),
                      run.job.balance ? "mean of the classes' accuracies: " : "", trials);
  }
  const SolvedHead solved =
      solve_head(training, state.lambda, run.loss.margins(), run.head_options(), run.threads);
  stop_if_interrupted("solving the last layer");
  run.set_head(solved.model);
  const NetworkQuality found = run.quality({run.head});
  state.head = run.with_test(found);
  state.head_solved = true;
  state.head_seconds = watch.seconds();

  LayerUpdate update;
  update.pass = 1;
  update.layer = run.tail.graph.node(run.head).name;
  update.form = "exact";
  update.accepted = true;
  update.reason = "solved";
  update.epochs = solved.epochs;
  update.before = 0;  // of all zeros: the mean of the margins that are not met
  std::int64_t n = 0;
  for (const std::int32_t label : training.labels) {
    float worst = 0;
    for (int y = 0; y < run.loss.classes(); ++y) worst = std::max(worst, run.loss.margins()(y, label));
    update.before += worst;
    ++n;
  }
  update.before /= static_cast<double>(n);
  update.after = found.objective;
  update.primal = found.objective;
  update.gap = solved.relative_gap * found.objective;
  update.dual = update.primal - update.gap;
  update.train_accuracy = found.train_accuracy;
  update.val_accuracy = found.val_accuracy;
  update.val_loss = found.val_loss;
  update.seconds = watch.seconds();
  ++state.moves;
  recorder.on_update(update);
}

RefineOptions stage_options(const Adaptation& run, const StageNetwork& stage, std::vector<int> layers,
                            bool timed) {
  std::ranges::replace(layers, run.head, stage.head);
  RefineOptions options;
  options.layers = std::move(layers);
  options.lambda = stage.lambda;
  options.centre = run.start;  // the new layer's are zeros, of whatever scale
  options.batch = run.job.batch;
  options.seed = run.job.seed + 101 * run.state.stage;
  options.memory = parse_bytes(run.job.memory, "memory") / 2;
  options.passes = timed ? 40 : 12;
  options.patience = 3;
  options.as_stored = [&run, &stage](int node, std::span<float> weights) {
    if (node != stage.head)
      return round_to_storage(run.model, run.tail.node_of[static_cast<std::size_t>(node)], weights);
    return false;  // when all is done
  };
  return options;
}

std::string layer_names(const Adaptation& run, const std::vector<int>& layers) {
  std::vector<std::string> names;
  names.reserve(layers.size());
  for (const int node : layers) names.push_back(run.tail.graph.node(node).name);
  if (names.size() > 4)
    return fmt::format("{}, {}, ... {} ({} layers)", names[0], names[1], names.back(), names.size());
  return fmt::format("{}", fmt::join(names, ", "));
}

// Better by validation, by more than the last digits of its loss.
bool is_worth_it(const NetworkQuality& before, const NetworkQuality& after) {
  return after.val_accuracy > before.val_accuracy || after.val_loss < 0.98 * before.val_loss;
}

// One stage after the other. Returns why it ended.
std::string refine_deeper(Adaptation& run, const std::vector<std::vector<int>>& stages, bool timed,
                          std::optional<SavedRun>& saved, Recording& recording, Refiner*& current) {
  AdaptState& state = run.state;
  RefineEnd end = RefineEnd::passes_done;
  while (!state.stages_over && state.stage < stages.size()) {
    const std::vector<int>& layers = stages[state.stage];
    StageNetwork stage = stage_network(run.tail, run.head, layers, run.start, state.lambda);
    const RefineOptions options = stage_options(run, stage, layers, timed);
    Refiner refiner(stage.graph, run.samples.training(), &run.samples.validation(), run.loss, options,
                    run.threads);
    if (saved && saved->checkpoint.has("refine.parameters")) {
      check_refine_state(saved->checkpoint, stage.graph.parameters().size(), layers.size(),
                         run.samples.training().size() / run.samples.training().copies());
      refiner.restore(std::move(saved->checkpoint));
      saved.reset();
    } else {
      run.messages.line("opened: {}; lambda {:.3g} around the network as it was", layer_names(run, layers),
                        stage.lambda);
    }
    current = &refiner;
    recording.recorder().begin_refining(options);
    end = refiner.run(recording.recorder());
    const bool over = end != RefineEnd::stopped && end != RefineEnd::out_of_time;
    if (!over) recording.save();  // with the refiner's state: a resumed run goes on there
    current = nullptr;
    refiner.keep_chosen();
    const bool better = refiner.best_move() > 0 && is_worth_it(refiner.start(), refiner.current());
    if (better) {
      stage.put_back(run.tail.graph);
      run.round_head();
      state.deep_lambda = stage.lambda;
    }
    if (!over) {
      if (better) ++state.improved;
      return std::string(to_string(end));
    }
    state.moves += refiner.updates();
    state.rejected += refiner.rejected();
    if (better) ++state.improved;
    ++state.stage;
    state.stages_over = !better;
    if (!better)
      run.messages.line("no better by validation with {}: the layers stay as they were",
                        layer_names(run, layers));
    recording.save();
  }
  return state.stages_over ? "no better on the validation part with more layers"
                           : std::string(stages.empty() ? "solved" : "all layers had their turn");
}

// Where nothing but the last layer has changed, the validation samples have done their work and can be
// learned from.
bool solve_with_everything(Adaptation& run) {
  if (run.state.improved > 0 || run.samples.left_out().size() == 0 || run.own_validation()) return false;
  const HeadRows everything = joined(run.rows(run.samples.training()), run.rows(run.samples.left_out()));
  const SolvedHead solved =
      solve_head(everything, run.state.lambda, run.loss.margins(), run.head_options(), run.threads);
  if (interrupted()) return false;
  run.set_head(solved.model);
  return true;
}

std::vector<int> changed_layers(const Adaptation& run) {
  std::vector<int> layers;
  const Graph& graph = run.tail.graph;
  for (int node = static_cast<int>(graph.nodes().size()) - 1; node > 0; --node) {
    const ParameterRange range = graph.node(node).trained;
    const auto begin = graph.parameters().begin() + range.begin;
    if (node == run.head || !std::equal(begin, begin + range.size, run.start.begin() + range.begin))
      layers.push_back(node);
  }
  return layers;
}

// What the written file says of itself. With two lambdas, that of the new layer and that of the old ones, F
// cannot be told in it: then eval gives the loss alone.
void note_adaptation(const Adaptation& run, const std::vector<int>& changed, bool all_samples,
                     const std::string& output, Model& model) {
  if (changed.size() == 1) {
    const std::vector<int> layers{run.tail.node_of[static_cast<std::size_t>(changed[0])]};
    model.info.lambda = run.state.lambda;
    note_centre({}, Regulariser(model.graph, run.state.lambda, layers), output, model);
  }
  if (!run.own_validation())
    note_split(all_samples ? SplitChoice{0, run.task.choice.seed} : run.task.choice, model.info);
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
  const Threads threads = start_threads(context.threads, messages);
  Model model = saved         ? std::move(saved->model)
                : input.model ? std::move(*input.model)
                              : read_onnx(job.input, job.output_name, asked_size(job.task.photos));
  const TaskOptions asked = origin.task(job.task);
  std::shared_ptr<const DataSet> data = std::move(input.data);
  if (!data) {
    LoadOptions how = load_options(photo_settings(asked.photos, context), &model, context, !saved);
    how.data_dir = asked.data_dir;
    data = std::make_shared<const DataSet>(load_data(asked.data, how));
  }
  stop_if_interrupted("loading the data");
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
  const int cut = choose_cut(
      model, head, depth, AllSamples(task.data, parse_augmentation(job.task.augment, task.data.shape)).size(),
      parse_bytes(job.memory, "memory"));
  NetworkTail tail = make_tail(model.graph, cut);
  std::vector<float> start = tail.graph.parameters();
  Refiner* refiner = nullptr;
  if (saved && saved->checkpoint.has("adapt.start")) {
    const auto stored = saved->checkpoint.get<float>("adapt.start", start.size());
    start.assign(stored.begin(), stored.end());
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
      if (refiner) refiner->save(checkpoint);
    });
    if (!saved) recording.save();  // so that a run can be resumed from its first moment on
  }

  const Stopwatch feature_watch;
  const AdaptSamples samples(job, model, cut, task, threads, context);
  state.feature_seconds += feature_watch.seconds();
  messages.line("features: {} numbers at '{}' for {} samples, {} ({})", format_count(samples.store().width()),
                model.graph.node(cut).name, format_count(samples.store().size()),
                samples.store().found() ? "found in the cache"
                                        : "computed in " + format_duration(feature_watch.seconds()),
                format_bytes(static_cast<double>(samples.store().bytes())));

  const MarginMatrix margins =
      job.balance ? balanced_margins(task.loss.margins(), task.data.train.labels()) : task.loss.margins();
  Adaptation run{job,      task,    threads,
                 messages, samples, Loss(LossKind::hinge, margins),
                 model,    tail,    tail.tail_node(head),
                 start,    state};
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
  stop_policy.reserve(0.2);
  const std::string reason = refine_deeper(run, stages, time_limit > 0, saved, recording, refiner);
  const bool all_samples = solve_with_everything(run);
  const std::vector<int> changed = changed_layers(run);
  tail.put_back(model.graph);
  note_adaptation(run, changed, all_samples, output, model);

  AdaptSummary summary;
  summary.replaced = state.replaced;
  summary.normalization = state.normalization;
  for (int y = 0; y < task.data.classes; ++y)
    summary.classes.push_back(task.data.class_names.empty()
                                  ? std::to_string(y)
                                  : task.data.class_names[static_cast<std::size_t>(y)]);
  summary.lambda = state.lambda;
  if (state.cross_validated >= 0) summary.cross_validated = state.cross_validated;
  summary.head = state.head;
  summary.end = run.with_test(run.quality(changed));
  if (all_samples) summary.end.val_accuracy.reset();  // they were learned from
  for (const int node : changed) summary.layers.push_back(tail.graph.node(node).name);
  summary.updates = updates.take();
  summary.moves = state.moves;
  summary.rejected = state.rejected;
  summary.feature_samples = samples.store().found() ? 0 : samples.store().size();
  summary.feature_seconds = state.feature_seconds;
  summary.head_seconds = state.head_seconds;
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
