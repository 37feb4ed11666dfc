#include "lwsvm/refiner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/stopwatch.h"
#include "dc/tail.h"
#include "lwsvm/team_observer.h"

namespace lwsvm {
namespace {

constexpr double kMinGainOfAPass = 0.005;
// Without passes: F fell by less than this in so many moves.
constexpr double kMinGain = 0.003;
constexpr std::size_t kGainWindow = 8;
void check_labels(const SampleSource& source, int classes, std::string_view part) {
  for (std::int64_t i = 0; i < source.size(); ++i)
    if (const std::int32_t label = source.label(i); label < 0 || label >= classes)
      fail("refine", "{} sample {} has label {}, but the network has {} classes", part, i, label, classes);
}

std::vector<int> opened_layers(const Graph& graph, const RefineOptions& options) {
  return options.layers.empty() ? refinable_layers(graph) : options.layers;
}

}  // namespace

std::string_view to_string(RefineEnd end) {
  switch (end) {
    case RefineEnd::passes_done:
      return "all passes done";
    case RefineEnd::validation_fell:
      return "no better on the validation part for some time";
    case RefineEnd::little_gained:
      return "the objective hardly falls any more";
    case RefineEnd::stopped:
      return "stopped";
    case RefineEnd::out_of_time:
      return "time is up";
  }
  return "";
}

Regulariser make_regulariser(const Graph& graph, const RefineOptions& options) {
  if (options.mode == RefineMode::paper || options.regularise_all) return Regulariser(graph, options.lambda);
  return Regulariser(graph, options.lambda, opened_layers(graph, options), options.centre);
}

Refiner::Refiner(Graph& graph, const SampleSource& train, const SampleSource* validation, const Loss& loss,
                 const RefineOptions& options, const Threads& threads, Team& team)
    : graph_(graph),
      team_(team),
      loss_(loss),
      options_(options),
      threads_(threads),
      layers_(opened_layers(graph, options)),
      regulariser_(make_regulariser(graph, options)),
      train_(&train),
      validation_samples_(sum(team, validation ? validation->size() : std::int64_t{0})),
      train_samples_(sum(team, train.size())),
      validation_(validation_samples_ > 0 ? validation : nullptr),
      best_(validation_samples_, in_turn()),
      chooser_(layers_.size()) {
  options_.validate();
  options_.centre = {};  // the regulariser has it
  LWSVM_CHECK(loss.kind() == LossKind::hinge);
  if (element_count(graph.node(graph.scores()).shape) != loss.classes())
    fail("refine", "the network has {} scores but the margins are for {} classes",
         element_count(graph.node(graph.scores()).shape), loss.classes());
  check_labels(train, loss.classes(), "training");
  if (validation_) check_labels(*validation_, loss.classes(), "validation");
  if (layers_.empty()) fail("refine", "no layer of this network can be refined");
  for (int node : layers_) cut_tail(graph, node);  // throws, with the reason, where one cannot
  std::sort(layers_.rbegin(), layers_.rend());
  for (float w : graph.parameters())
    if (!std::isfinite(w)) fail("refine", "the network has weights that are not numbers");
  keep_frozen_prefix();
  if (options_.judged)
    judged_.emplace(*train_, judged_samples(train_->size(), *options_.judged, options_.seed));
  judged_samples_ = sum(team_, judged().size());
  evaluator_.emplace(graph_, threads_, from_, -1, team_);
  keep_features();
  const RefineContext context{.graph = graph_,
                              .train = *train_,
                              .judged = judged(),
                              .validation = validation_,
                              .from = from_,
                              .loss = loss_,
                              .options = options_,
                              .regulariser = regulariser_,
                              .threads = threads_,
                              .evaluator = *evaluator_,
                              .features = features_.get(),
                              .evaluation_seconds = evaluation_seconds_,
                              .team = team_,
                              .train_samples = train_samples_,
                              .judged_samples = judged_samples_,
                              .validation_samples = validation_samples_,
                              .largest_part = largest(team_, train_->size())};
  updater_.emplace(context);
  if (!in_turn()) sweeper_.emplace(context);
  if (features_)
    feature_updater_.emplace(RefineContext{.graph = graph_,
                                           .train = features_->training(),
                                           .judged = features_->training(),
                                           .validation = nullptr,
                                           .from = features_->node(),
                                           .loss = loss_,
                                           .options = options_,
                                           .regulariser = regulariser_,
                                           .threads = threads_,
                                           .evaluator = features_->evaluator(),
                                           .features = nullptr,
                                           .evaluation_seconds = feature_evaluation_seconds_,
                                           .team = team_,
                                           .train_samples = train_samples_,
                                           .judged_samples = judged_samples_,
                                           .validation_samples = 0,
                                           .largest_part = train_->size()});
  for (int node : layers_) mu_.push_back(updater_->initial_mu(node));
}

// It may take half of the memory; the layer problems get the rest. Values that somebody keeps in a file take
// none.
void Refiner::keep_frozen_prefix() {
  const bool wanted = options_.keep_prefix && !options_.sweep_samples;
  const int node = wanted ? frozen_prefix(graph_, layers_) : -1;
  if (node < 0) return;
  const std::int64_t samples =
      largest(team_, train_->size() + (validation_ ? validation_->size() : 0));  // all do the same
  const std::uint64_t bytes = PrefixSource::bytes_for(graph_, node, samples);
  const bool fits = bytes <= options_.memory / 2;
  const auto run_once = [&](const SampleSource& source, bool training) -> std::unique_ptr<SampleSource> {
    if (options_.prefix)
      if (std::unique_ptr<SampleSource> known = options_.prefix(node, training)) return known;
    if (!fits) return nullptr;
    auto values = std::make_unique<PrefixSource>(graph_, node, source);
    values->compute(graph_, threads_);
    return values;
  };
  std::unique_ptr<SampleSource> train = run_once(*train_, true);
  std::unique_ptr<SampleSource> validation = train && validation_ ? run_once(*validation_, false) : nullptr;
  if (!train || (validation_ && !validation)) return;
  if (fits) options_.memory -= bytes;
  from_ = node;
  train_prefix_ = std::move(train);
  train_ = train_prefix_.get();
  if (!validation_) return;
  validation_prefix_ = std::move(validation);
  validation_ = validation_prefix_.get();
}

// They may take a quarter of the memory. Where F is over a part of the samples there are no layer updates.
// Several ranks do without them.
void Refiner::keep_features() {
  if (options_.mode == RefineMode::paper || judged_ || !team_.is_alone()) return;
  features_ =
      Features::of_last_layer(graph_, layers_, from_, *train_, validation_, options_.memory / 4, threads_);
  if (features_) options_.memory -= features_->bytes();
}

NetworkQuality Refiner::quality(const LossSums& training) {
  NetworkQuality quality;
  quality.train_loss = training.mean_loss();
  quality.objective = evaluator_->objective(training, regulariser_);
  quality.train_accuracy = training.accuracy();
  if (validation_) {
    const LossSums validation =
        features_ ? features_->evaluate_validation(loss_) : evaluator_->evaluate(*validation_, loss_);
    quality.val_accuracy = validation.accuracy();
    quality.val_loss = validation.mean_loss();
  }
  return quality;
}

RefineEnd Refiner::run(RefineObserver& own) {
  std::optional<TeamObserver> shared;
  if (!team_.is_alone()) shared.emplace(own, team_);
  RefineObserver& observer = shared ? *shared : own;
  begin();
  while (!end_ && !passes_done()) {
    if (!updater().is_open() && !(sweeper_ && sweeper_->under_way())) {
      move_ = next_move();
      if (!time_for_a_move(move_, observer)) return RefineEnd::out_of_time;
    }
    std::optional<MoveResult> result = make_move(observer);
    if (!result) return RefineEnd::stopped;
    take_stock(*result);
    observer.on_update(result->update);
    end_ = reason_to_end();
    if (in_turn() && layer_index_ == 0) observer.on_pass(pass_, current_);
    observer.on_safe_point();
  }
  return end_.value_or(RefineEnd::passes_done);
}

void Refiner::set_start(const NetworkQuality& start, double evaluation_seconds) {
  start_ = start;
  set_evaluation_seconds(of_first(team_, evaluation_seconds));
  start_is_known_ = true;
}

void Refiner::set_evaluation_seconds(double seconds) {
  evaluation_seconds_ = seconds;
  if (features_) feature_evaluation_seconds_ = features_->share_of_work() * seconds;
}

// What the start is worth, where the caller has not found out already, and how long it takes to see that.
void Refiner::begin() {
  if (started_) return;
  const Stopwatch watch;
  if (!start_is_known_) start_ = quality(evaluator_->evaluate(judged(), loss_));
  if (!std::isfinite(start_.objective))
    fail("refine",
         "the network's objective is not a finite number: its scores are too large for float32; check the "
         "normalisation of the input");
  if (!start_is_known_) set_evaluation_seconds(of_first(team_, watch.seconds()));
  current_ = start_;
  best_.begin(start_, graph_.parameters());
  pass_start_objective_ = current_.objective;
  started_ = true;
}

// Among other moves, the SVM layer has the last word: it is cheap, and exact for the features that sweeps
// have left.
bool Refiner::passes_done() const {
  if (!options_.passes || pass_ < *options_.passes || updater().will_resume()) return false;
  const bool sweep_was_last = moves_ > 0 && move_ == MoveChooser::kSweep;
  return options_.moves != Moves::automatic || in_turn() || !sweep_was_last;
}

std::size_t Refiner::next_move() const {
  if (in_turn()) return layer_index_ + 1;
  if (options_.moves == Moves::automatic && options_.passes && pass_ >= *options_.passes) return 1;
  return options_.moves == Moves::sweeps ? MoveChooser::kSweep : chooser_.next(sweeper_->has_grown());
}

// To linearise a layer takes a look at all samples, its candidates two more; a sweep can be cut anywhere.
bool Refiner::time_for_a_move(std::size_t move, RefineObserver& observer) const {
  double needed = (move == MoveChooser::kSweep ? 1.6 : 4) * evaluation_seconds_;
  if (features_ && move == kLastLayer)
    needed = 4 * feature_evaluation_seconds_ + (features_->is_up_to_date() ? 0 : evaluation_seconds_);
  return observer.seconds_left() > needed;
}

std::optional<MoveResult> Refiner::make_move(RefineObserver& observer) {
  if (move_ != MoveChooser::kSweep) return update_layer(observer);
  observer.on_open(pass_ + 1, "sweep");
  std::optional<MoveResult> result =
      sweeper_->sweep(static_cast<std::uint64_t>(moves_), passes_left(observer), current_, observer);
  if (result) pass_seconds_ = of_first(team_, result->update.seconds / result->update.epochs);
  return result;
}

// By --passes and by the time; where neither has an end, as if there were ten.
double Refiner::passes_left(RefineObserver& observer) const {
  const double by_passes =
      options_.passes ? *options_.passes - pass_ : std::numeric_limits<double>::infinity();
  const auto evaluated = static_cast<double>(judged_samples_ + validation_samples_);
  const auto samples = train_samples_ / train_->copies();  // of one pass
  const double seconds =
      pass_seconds_ > 0 ? pass_seconds_ : 3 * evaluation_seconds_ * static_cast<double>(samples) / evaluated;
  const double by_time = (observer.seconds_left() - 1.25 * evaluation_seconds_) / std::max(seconds, 1e-9);
  const double left = std::min(by_passes, by_time);
  return std::isfinite(left) ? left : 10;
}

std::optional<MoveResult> Refiner::update_layer(RefineObserver& observer) {
  const std::size_t index = move_ - 1;
  const int node = layers_[index];
  observer.on_open(pass_ + 1, graph_.node(node).name);
  const auto turn = static_cast<std::uint64_t>(in_turn() ? pass_ : moves_);
  const std::uint64_t seed = options_.seed + 7919 * turn + index;
  if (feature_updater_ && move_ == kLastLayer) features_->bring_up_to_date();
  std::optional<MoveResult> result = updater().update(node, mu_[index], seed, current_, observer);
  if (result) mu_[index] = result->update.next_mu;
  return result;
}

// After a move: what the network is worth now, and whether it is the best so far.
void Refiner::take_stock(MoveResult& result) {
  LayerUpdate& update = result.update;
  if (result.training) current_ = quality(*result.training);
  update.pass = pass_ + 1;
  update.after = current_.objective;
  update.train_accuracy = current_.train_accuracy;
  update.val_accuracy = current_.val_accuracy;
  update.val_loss = current_.val_loss;
  if (move_ == MoveChooser::kSweep) pass_ += update.epochs;
  ++moves_;
  ++updates_;
  rejected_ += !update.accepted;
  rises_ += update.after > update.before;
  seconds_ += update.seconds;
  dual_bytes_ = std::max(dual_bytes_, update.dual_bytes);
  chooser_.count(move_, update.before - update.after, update.work);
  objectives_.push_back(current_.objective);
  if (options_.mode == RefineMode::paper) return;  // which looks at the ends of passes
  const bool most_accurate = best_.consider(current_, graph_.parameters(), moves_);
  if (!in_turn()) since_best_ = most_accurate ? 0 : since_best_ + 1;
}

std::optional<RefineEnd> Refiner::reason_to_end() {
  if (in_turn()) {
    if (++layer_index_ < layers_.size()) return std::nullopt;
    layer_index_ = 0;
    return finish_pass();
  }
  if (validation_ && options_.patience && since_best_ >= *options_.patience)
    return RefineEnd::validation_fell;
  if (objectives_.size() > kGainWindow) {
    const double before = objectives_[objectives_.size() - 1 - kGainWindow];
    if (before - current_.objective < kMinGain * before) return RefineEnd::little_gained;
  }
  return std::nullopt;
}

// The layers have had their turns; a reason if it was the last time.
std::optional<RefineEnd> Refiner::finish_pass() {
  ++pass_;
  const bool fell = validation_ && current_.val_accuracy < best_.quality().val_accuracy;
  since_best_ = fell ? since_best_ + 1 : 0;
  if (options_.mode == RefineMode::paper) best_.consider(current_, graph_.parameters(), moves_);
  const double gained = pass_start_objective_ - current_.objective;
  const bool little = gained < kMinGainOfAPass * pass_start_objective_;
  pass_start_objective_ = current_.objective;
  if (since_best_ >= options_.patience.value_or(1)) return RefineEnd::validation_fell;
  if (little) return RefineEnd::little_gained;
  return std::nullopt;
}

void Refiner::keep_chosen(double seconds_left) {
  if (!started_) return;
  if (sweeper_) sweeper_->step_back();
  if (options_.keep == Keep::last) return;
  graph_.parameters() = best_.parameters();
  current_ = best_.quality();
  if (validation_ && best_.move() > 0 && options_.mode != RefineMode::paper) search_line(seconds_left);
}

// Networks between the start and the best one can be better on new data than its end [WIK22]. F is higher
// there, so one of them must be clearly better to be taken, and F lower than at the start.
void Refiner::search_line(double seconds_left) {
  const Stopwatch watch;
  const auto put = [&](double share) {
    for (const Regulariser::Layer& layer : regulariser_.layers()) {
      float* w = graph_.parameters().data() + layer.range.begin;
      for (std::int64_t i = 0; i < layer.range.size; ++i) {
        const auto at = static_cast<std::size_t>(layer.range.begin + i);
        const double from = best_.start_parameters()[at], to = best_.parameters()[at];
        w[i] = static_cast<float>(from + share * (to - from));
      }
      if (options_.as_stored) options_.as_stored(layer.node, {w, static_cast<std::size_t>(layer.range.size)});
    }
  };
  for (const double share : {0.75, 0.5}) {
    if (of_first(team_, seconds_left - watch.seconds()) < evaluation_seconds_) break;
    put(share);
    const LossSums validation = evaluator_->evaluate(*validation_, loss_);
    NetworkQuality found = best_.quality();
    found.val_accuracy = validation.accuracy();
    found.val_loss = validation.mean_loss();
    if (!best_.is_clearly_better(found, current_)) break;
    const LossSums training = evaluator_->evaluate(judged(), loss_);
    found.objective = evaluator_->objective(training, regulariser_);
    if (!(found.objective < start_.objective)) break;
    found.train_loss = training.mean_loss();
    found.train_accuracy = training.accuracy();
    current_ = found;
    kept_share_ = share;
  }
  put(kept_share_);
  if (kept_share_ == 1) graph_.parameters() = best_.parameters();
}

void Refiner::save(Checkpoint& checkpoint) const {
  checkpoint.put_view("refine.parameters", std::span<const float>(graph_.parameters()));
  checkpoint.put_view("refine.centre", std::span<const float>(regulariser_.centre()));
  checkpoint.put("refine.current", flat(current_));
  best_.save(checkpoint);
  checkpoint.put("refine.mu", mu_);
  checkpoint.put("refine.reals", std::vector<double>{pass_start_objective_, seconds_, evaluation_seconds_});
  checkpoint.put("refine.dual_bytes", std::vector<std::uint64_t>{dual_bytes_});
  checkpoint.put("refine.objectives", objectives_);
  checkpoint.put("refine.moves", chooser_.save());
  checkpoint.put("refine.counts",
                 std::vector<std::int32_t>{started_, pass_, static_cast<std::int32_t>(layer_index_),
                                           best_.move(), updates_, rejected_, rises_, updater().is_open(),
                                           end_ ? 1 + static_cast<std::int32_t>(*end_) : 0, since_best_,
                                           moves_, static_cast<std::int32_t>(move_)});
  if (sweeper_) sweeper_->save(checkpoint);
  save_own(checkpoint);
}

// The network may have moved since: the centre is that of the beginning.
void Refiner::restore_centre(Checkpoint& checkpoint) {
  std::vector<float> centre = checkpoint.take<float>("refine.centre");
  if (!centre.empty() && std::ssize(centre) != regulariser_.size())
    fail("checkpoint", "the centre holds {} numbers, the opened layers {}: it belongs to another run",
         centre.size(), regulariser_.size());
  regulariser_.set_centre(std::move(centre));
}

void Refiner::save_own(Checkpoint& checkpoint) const {
  if (updater().is_open()) updater().save(checkpoint);
}

void Refiner::restore(Checkpoint checkpoint) {
  const bool has_open_layer = restore_common(checkpoint);
  if (has_open_layer) updater().restore(std::move(checkpoint));
}

void Refiner::restore_with(Checkpoint checkpoint, std::optional<Checkpoint> own) {
  const bool has_open_layer = restore_common(checkpoint);
  if (has_open_layer && own) updater().restore(std::move(*own));
}

// All but an open layer; whether there was one.
bool Refiner::restore_common(Checkpoint& checkpoint) {
  std::ranges::copy(checkpoint.get<float>("refine.parameters", graph_.parameters().size()),
                    graph_.parameters().begin());
  objectives_ = checkpoint.take<double>("refine.objectives");
  chooser_.restore(checkpoint.get<double>("refine.moves", chooser_.save().size()));
  restore_centre(checkpoint);
  current_ = quality_of(checkpoint.get<double>("refine.current", kQualityNumbers));
  std::ranges::copy(checkpoint.get<double>("refine.mu", mu_.size()), mu_.begin());
  const auto reals = checkpoint.get<double>("refine.reals", 3);
  pass_start_objective_ = reals[0];
  seconds_ = reals[1];
  set_evaluation_seconds(reals[2]);
  dual_bytes_ = checkpoint.get<std::uint64_t>("refine.dual_bytes", 1)[0];
  const auto counts = checkpoint.get<std::int32_t>("refine.counts", 12);
  started_ = counts[0] != 0;
  pass_ = counts[1];
  layer_index_ = static_cast<std::size_t>(counts[2]);
  best_.restore(checkpoint, counts[3]);
  start_ = best_.start();
  updates_ = counts[4];
  rejected_ = counts[5];
  rises_ = counts[6];
  since_best_ = counts[9];
  moves_ = counts[10];
  move_ = static_cast<std::size_t>(counts[11]);
  if (sweeper_) sweeper_->restore(checkpoint);
  if (counts[8] != 0) end_ = static_cast<RefineEnd>(counts[8] - 1);
  return counts[7] != 0;
}

}  // namespace lwsvm
