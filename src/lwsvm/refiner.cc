#include "lwsvm/refiner.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "dc/tail.h"

namespace lwsvm {
namespace {

constexpr double kLeastGainOfAPass = 0.005;
void check_labels(const SampleSource& source, int classes, std::string_view part) {
  for (std::int64_t i = 0; i < source.size(); ++i)
    if (const std::int32_t label = source.label(i); label < 0 || label >= classes)
      fail("refine", "{} sample {} has label {}, but the network has {} classes", part, i, label, classes);
}

std::vector<double> flat(const NetworkQuality& q) {
  return {q.objective, q.train_loss, q.train_accuracy, q.val_accuracy};
}

std::vector<int> opened_layers(const Graph& graph, const RefineOptions& options) {
  return options.layers.empty() ? refinable_layers(graph) : options.layers;
}

NetworkQuality quality_of(std::span<const double> values) {
  return {values[0], values[1], values[2], values[3]};
}

}  // namespace

std::string_view to_string(RefineEnd end) {
  switch (end) {
    case RefineEnd::passes_done:
      return "all passes done";
    case RefineEnd::validation_fell:
      return "validation accuracy fell below the best";
    case RefineEnd::little_gained:
      return "the objective fell by less than 0.5% in a pass";
    case RefineEnd::stopped:
      return "stopped";
  }
  return "";
}

Regulariser make_regulariser(const Graph& graph, const RefineOptions& options) {
  if (options.mode == RefineMode::paper || options.regularise_all) return Regulariser(graph, options.lambda);
  return Regulariser(graph, options.lambda, opened_layers(graph, options), options.centre);
}

Refiner::Refiner(Graph& graph, const SampleSource& train, const SampleSource* validation, const Loss& loss,
                 const RefineOptions& options, const Threads& threads)
    : graph_(graph),
      loss_(loss),
      options_(options),
      threads_(threads),
      layers_(opened_layers(graph, options)),
      regulariser_(make_regulariser(graph, options)),
      train_(&train),
      validation_(validation && validation->size() > 0 ? validation : nullptr) {
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
  evaluator_.emplace(graph_, threads_, from_);
  updater_.emplace(
      RefineGround{graph_, *train_, from_, loss_, options_, regulariser_, threads_, *evaluator_});
  for (int node : layers_) mu_.push_back(updater_->initial_mu(node));
}

// It may take half of the memory; the layer problems get the rest.
void Refiner::keep_frozen_prefix() {
  const int node = frozen_prefix(graph_, layers_);
  if (node < 0) return;
  const std::int64_t samples = train_->size() + (validation_ ? validation_->size() : 0);
  const std::uint64_t bytes = PrefixSource::bytes_for(graph_, node, samples);
  if (bytes > options_.memory / 2) return;
  options_.memory -= bytes;
  from_ = node;
  train_prefix_ = std::make_unique<PrefixSource>(graph_, node, *train_, threads_);
  train_ = train_prefix_.get();
  if (!validation_) return;
  validation_prefix_ = std::make_unique<PrefixSource>(graph_, node, *validation_, threads_);
  validation_ = validation_prefix_.get();
}

NetworkQuality Refiner::quality(const LossSums& training) {
  NetworkQuality quality;
  quality.train_loss = training.mean_loss();
  quality.objective = evaluator_->objective(training, regulariser_);
  quality.train_accuracy = training.accuracy();
  if (validation_) quality.val_accuracy = evaluator_->evaluate(*validation_, loss_).accuracy();
  return quality;
}

RefineEnd Refiner::run(RefineObserver& observer) {
  if (!started_) {
    start_ = current_ = best_ = quality(evaluator_->evaluate(*train_, loss_));
    best_parameters_ = graph_.parameters();
    pass_start_objective_ = current_.objective;
    started_ = true;
  }
  while (!end_ && pass_ < options_.passes) {
    for (; layer_index_ < layers_.size(); ++layer_index_) {
      const std::optional<LayerUpdate> update = update_layer(observer);
      if (!update) return RefineEnd::stopped;
      count(*update);
      observer.on_update(*update);
    }
    end_ = finish_pass();
    observer.on_pass(pass_, current_);
    observer.on_safe_point();
  }
  return end_.value_or(RefineEnd::passes_done);
}

// The layer whose turn it is; nullopt: stopped.
std::optional<LayerUpdate> Refiner::update_layer(RefineObserver& observer) {
  const int node = layers_[layer_index_];
  observer.on_open(pass_ + 1, graph_.node(node).name);
  const std::uint64_t seed = options_.seed + 7919 * static_cast<std::uint64_t>(pass_) + layer_index_;
  std::optional<LayerUpdater::Result> result =
      updater_->update(node, mu_[layer_index_], seed, current_, observer);
  if (!result) return std::nullopt;
  LayerUpdate& update = result->update;
  mu_[layer_index_] = update.next_mu;
  if (result->training) current_ = quality(*result->training);
  update.pass = pass_ + 1;
  update.after = current_.objective;
  update.train_accuracy = current_.train_accuracy;
  update.val_accuracy = current_.val_accuracy;
  return update;
}

void Refiner::count(const LayerUpdate& update) {
  ++updates_;
  rejected_ += !update.accepted;
  rises_ += update.after > update.before;
  seconds_ += update.seconds;
  dual_bytes_ = std::max(dual_bytes_, update.dual_bytes);
}

bool Refiner::current_is_best() const {
  if (validation_ && current_.val_accuracy != best_.val_accuracy)
    return current_.val_accuracy > best_.val_accuracy;
  return current_.objective < best_.objective;
}

// Bookkeeping at the end of a pass; a reason if it was the last.
std::optional<RefineEnd> Refiner::finish_pass() {
  ++pass_;
  layer_index_ = 0;
  const bool fell = validation_ && current_.val_accuracy < best_.val_accuracy;
  passes_below_best_ = fell ? passes_below_best_ + 1 : 0;
  if (current_is_best()) {
    best_ = current_;
    best_parameters_ = graph_.parameters();
    best_pass_ = pass_;
  }
  const double gained = pass_start_objective_ - current_.objective;
  const bool little = gained < kLeastGainOfAPass * pass_start_objective_;
  pass_start_objective_ = current_.objective;
  if (passes_below_best_ >= options_.patience) return RefineEnd::validation_fell;
  if (little) return RefineEnd::little_gained;
  return std::nullopt;
}

void Refiner::keep_chosen() {
  if (options_.keep == Keep::best && started_ && !current_is_best()) graph_.parameters() = best_parameters_;
}

void Refiner::save(Checkpoint& checkpoint) const {
  checkpoint.put_view("refine.parameters", std::span<const float>(graph_.parameters()));
  checkpoint.put_view("refine.best_parameters", std::span<const float>(best_parameters_));
  checkpoint.put_view("refine.centre", std::span<const float>(regulariser_.centre()));
  checkpoint.put("refine.start", flat(start_));
  checkpoint.put("refine.current", flat(current_));
  checkpoint.put("refine.best", flat(best_));
  checkpoint.put("refine.mu", mu_);
  checkpoint.put("refine.reals", std::vector<double>{pass_start_objective_, seconds_});
  checkpoint.put("refine.dual_bytes", std::vector<std::uint64_t>{dual_bytes_});
  checkpoint.put("refine.counts", std::vector<std::int32_t>{
                                      started_, pass_, static_cast<std::int32_t>(layer_index_), best_pass_,
                                      updates_, rejected_, rises_, updater_->is_open(),
                                      end_ ? 1 + static_cast<std::int32_t>(*end_) : 0, passes_below_best_});
  if (updater_->is_open()) updater_->save(checkpoint);
}

// The network may have moved since: the centre is that of the beginning.
void Refiner::restore_centre(Checkpoint& checkpoint) {
  std::vector<float> centre = checkpoint.take<float>("refine.centre");
  if (!centre.empty() && std::ssize(centre) != regulariser_.size())
    fail("checkpoint", "the centre holds {} numbers, the opened layers {}: it belongs to another run",
         centre.size(), regulariser_.size());
  regulariser_.set_centre(std::move(centre));
}

void Refiner::restore(Checkpoint checkpoint) {
  std::ranges::copy(checkpoint.get<float>("refine.parameters", graph_.parameters().size()),
                    graph_.parameters().begin());
  best_parameters_ = checkpoint.take<float>("refine.best_parameters");
  restore_centre(checkpoint);
  start_ = quality_of(checkpoint.get<double>("refine.start", 4));
  current_ = quality_of(checkpoint.get<double>("refine.current", 4));
  best_ = quality_of(checkpoint.get<double>("refine.best", 4));
  std::ranges::copy(checkpoint.get<double>("refine.mu", mu_.size()), mu_.begin());
  const auto reals = checkpoint.get<double>("refine.reals", 2);
  pass_start_objective_ = reals[0];
  seconds_ = reals[1];
  dual_bytes_ = checkpoint.get<std::uint64_t>("refine.dual_bytes", 1)[0];
  const auto counts = checkpoint.get<std::int32_t>("refine.counts", 10);
  started_ = counts[0] != 0;
  pass_ = counts[1];
  layer_index_ = static_cast<std::size_t>(counts[2]);
  best_pass_ = counts[3];
  updates_ = counts[4];
  rejected_ = counts[5];
  rises_ = counts[6];
  passes_below_best_ = counts[9];
  if (counts[8] != 0) end_ = static_cast<RefineEnd>(counts[8] - 1);
  if (counts[7] != 0) updater_->restore(std::move(checkpoint));
}

}  // namespace lwsvm
