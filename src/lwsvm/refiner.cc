#include "lwsvm/refiner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/stopwatch.h"
#include "dc/tail.h"

namespace lwsvm {
namespace {

constexpr double kLeastGainOfAPass = 0.005;
constexpr double kFirstMuOverLambda = 100;  // of an inner solve: its first epoch stays close to w_t

double half_square(std::span<const float> w) {
  double sum = 0;
  for (float x : w) sum += static_cast<double>(x) * static_cast<double>(x);
  return sum / 2;
}

void check_labels(const SampleSource& source, int classes, std::string_view part) {
  for (std::int64_t i = 0; i < source.size(); ++i)
    if (const std::int32_t label = source.label(i); label < 0 || label >= classes)
      fail("refine", "{} sample {} has label {}, but the network has {} classes", part, i, label, classes);
}

std::vector<double> flat(const NetworkQuality& q) {
  return {q.objective, q.train_loss, q.train_accuracy, q.val_accuracy};
}

NetworkQuality quality_of(std::span<const double> values) {
  return {values[0], values[1], values[2], values[3]};
}

}  // namespace

void RefineOptions::validate() const {
  if (!(lambda > 0) || !std::isfinite(lambda)) fail("refine", "lambda is {}; it must be positive", lambda);
  if (mu && (!(*mu >= 0) || !std::isfinite(*mu))) fail("refine", "mu is {}; it must be 0 or more", *mu);
  if (passes < 0) fail("refine", "{} passes; give 0 or more", passes);
  if (patience < 1) fail("refine", "a patience of {}; give 1 or more", patience);
  if (!(gap > 0 && gap < 1)) fail("refine", "the gap is {}; it is a fraction between 0 and 1", gap);
  if (max_epochs < 1) fail("refine", "{} epochs; give 1 or more", max_epochs);
  if (batch < 1) fail("refine", "a batch of {}; give 1 or more", batch);
}

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

// An open layer: its problem, its solver, and where the trust region is with it.
struct Refiner::ActiveSolve {
  int node;
  std::unique_ptr<LayerProblem> problem;
  BcfwSolver solver;
  double mu;
  std::uint64_t level = 0;  // how many piecewise linear layers behind it are free
  std::uint64_t attempt = 0;
  std::uint64_t further = 0;  // how often it was solved further
  std::uint64_t epochs = 0;   // of attempts that are over
  double seconds = 0;

  void visit(StateArchive& archive) {
    archive.scalar("solve.mu", mu);
    archive.scalar("solve.level", level);
    archive.scalar("solve.attempt", attempt);
    archive.scalar("solve.further", further);
    archive.scalar("solve.epochs", epochs);
    archive.scalar("solve.seconds", seconds);
    solver.visit(archive);
  }
};

Refiner::Refiner(Graph& graph, const SampleSource& train, const SampleSource* validation, const Loss& loss,
                 const RefineOptions& options, const Threads& threads)
    : graph_(graph),
      loss_(loss),
      options_(options),
      threads_(threads),
      layers_(options.layers.empty() ? refinable_layers(graph) : options.layers),
      train_(&train),
      validation_(validation && validation->size() > 0 ? validation : nullptr) {
  options_.validate();
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
  for (int node : layers_) mu_.push_back(initial_mu(node));
  keep_frozen_prefix();
  evaluator_.emplace(graph, threads_,
                     from_);  // our own handle on threads: the caller's may be gone before us
}

Refiner::~Refiner() = default;

double Refiner::initial_mu(int node) const {
  if (options_.mu) return *options_.mu;
  if (options_.mode == RefineMode::paper) return kPaperMuOverLambda * options_.lambda;
  const int free = free_layer_count(graph_, node);
  if (free == 0) return kLeastMuOverLambda * options_.lambda;
  const bool bounds_the_loss = first_level(node) == free;
  return (bounds_the_loss ? kBoundMuOverLambda : kLabelsMuOverLambda) * options_.lambda;
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
  quality.objective = evaluator_->objective(training, options_.lambda);
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
      const std::optional<LayerUpdate> update = update_layer(layers_[layer_index_], observer);
      if (!update) return RefineEnd::stopped;
      ++updates_;
      rejected_ += !update->accepted;
      rises_ += update->after > update->before;
      dual_bytes_ = std::max(dual_bytes_, update->dual_bytes);
      observer.on_update(*update);
    }
    end_ = finish_pass();
    observer.on_pass(pass_, current_);
    observer.on_safe_point();
  }
  return end_.value_or(RefineEnd::passes_done);
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

// With Search::full every layer starts at Y and is widened.
int Refiner::first_level(int node) const {
  if (options_.search != Search::automatic) return 0;
  return automatic_free_layers(graph_, node, train_->size(), options_.memory);
}

LayerProblemOptions Refiner::problem_options(int level) const {
  LayerProblemOptions options;
  options.from = from_;
  options.memory = options_.memory;
  options.free_layers = level;
  if (options_.mode == RefineMode::paper) {
    options.split = LossSplit::paper;
    options.step_rule = StepRule::single;
    options.exact_svm_layer = false;
  }
  return options;
}

StoppingOptions Refiner::stopping_options(double gap) const {
  StoppingOptions stopping;
  stopping.max_epochs = options_.max_epochs;
  stopping.gap_fraction = gap;
  if (options_.mode == RefineMode::paper) {
    stopping.gap_fraction = 0;
    stopping.relative_gap = 0;
    stopping.min_dual_rise = 0.01;
  }
  return stopping;
}

// A surrogate is not worth solving closely: the next linearisation gains more. That of an SVM layer is the
// loss itself.
double Refiner::gap_fraction(const ActiveSolve& active) const {
  const double closer = active.problem->is_svm_layer() ? 0.25 : 1.0;
  return options_.gap * closer * std::pow(0.3, static_cast<double>(active.further));
}

std::vector<float> Refiner::weights(int node) const {
  const auto begin = graph_.parameters().begin() + graph_.node(node).trained.begin;
  return {begin, begin + graph_.node(node).trained.size};
}

// True if they are further from w than float32 is: rounded to what the file can hold.
bool Refiner::set_weights(int node, std::span<const double> w) {
  float* target = graph_.parameters().data() + graph_.node(node).trained.begin;
  std::transform(w.begin(), w.end(), target, [](double x) { return static_cast<float>(x); });
  return options_.as_stored && options_.as_stored(node, {target, w.size()});
}

// Of the last iterate and the weighted average the one with the lower true objective, left in the graph.
Refiner::Candidate Refiner::best_candidate(const Summary& summary) {
  ActiveSolve& active = *active_;
  const double others = options_.lambda * (graph_.half_squared_norm() - half_square(weights(active.node)));
  Candidate best;
  best.trial.before = current_.objective;
  best.trial.after = std::numeric_limits<double>::infinity();
  std::vector<float> chosen;
  bool is_last = false;
  const auto consider = [&](std::span<const double> w, bool last) {
    const bool rounded = set_weights(active.node, w);
    const LossSums training = evaluator_->evaluate(*train_, loss_);
    const double objective = evaluator_->objective(training, options_.lambda);
    if (!(objective < best.trial.after)) return;
    best.training = training;
    best.trial.after = objective;
    chosen = weights(active.node);
    is_last = last && !rounded;
  };
  // The paper takes the average; an SVM layer, which is solved more closely, is best where it is.
  const bool paper = options_.mode == RefineMode::paper;
  if (!paper) consider(active.solver.weights().exact, true);
  if (paper || !active.problem->is_svm_layer()) consider(active.solver.average_weights(), false);

  std::ranges::copy(chosen, graph_.parameters().begin() + graph_.node(active.node).trained.begin);
  const WeightVector point{std::span<const float>(chosen)};
  const double surrogate =
      is_last && summary.certified ? summary.mean_loss : active.problem->blocks().mean_loss(point.view());
  best.trial.model = others + options_.lambda * half_square(chosen) + surrogate;
  return best;
}

// The layer's problem with `level` layers free, at the network's current weights.
std::unique_ptr<LayerProblem> Refiner::linearise(int node, int level) const {
  return std::make_unique<LayerProblem>(graph_, node, *train_, loss_.margins(), problem_options(level),
                                        threads_);
}

// Makes a solver for the problem, its dual at zero.
void Refiner::open(int node, int level, double mu, std::unique_ptr<LayerProblem> problem) {
  BcfwOptions options;
  options.lambda = options_.lambda;
  options.mu = mu;
  const bool dense = graph_.node(node).layer->kind() == "Dense";
  options.schedule.batch_size =
      dense ? options_.batch
            : batch_that_fits(graph_.node(node).trained.size, options_.memory, options_.batch);
  if (options_.mode == RefineMode::paper) {
    options.schedule.fixed_batches = true;
  } else {
    options.first_mu = kFirstMuOverLambda * options_.lambda;
    options.schedule.rest_below = 0.1;
  }
  options.seed = options_.seed + 7919 * static_cast<std::uint64_t>(pass_) + layer_index_;
  BlockAscent& blocks = problem->blocks();
  auto active = std::unique_ptr<ActiveSolve>(  // NOLINT(modernize-make-unique): an aggregate, for clang 14
      new ActiveSolve{node, std::move(problem), BcfwSolver(blocks, weights(node), options, threads_), mu});
  active->level = static_cast<std::uint64_t>(level);
  active->solver.set_anchor_loss(current_.train_loss);  // every surrogate equals the loss at w_t
  if (active_) {                                        // the same update, in a wider space
    active->attempt = active_->attempt;
    active->further = active_->further;
    active->epochs = active_->epochs;
    active->seconds = active_->seconds;
  }
  active_ = std::move(active);
}

void Refiner::open_restored(int node) {
  const auto level = static_cast<int>(pending_solve_->get<std::uint64_t>("solve.level", 1)[0]);
  open(node, level, mu_[layer_index_], linearise(node, level));
  StateArchive archive = StateArchive::loading_from(*pending_solve_);
  active_->visit(archive);
  pending_solve_.reset();
}

// [BZK17, Obs. 1]: a solution of the small space is checked on the next larger one. There H is no smaller, so
// the dual stays a lower bound and P'(w) - D a true gap; if that is still within the tolerance, widening has
// nothing to give. The graph must hold w_t.
bool Refiner::widen(const Summary& summary) {
  const int node = active_->node, next = static_cast<int>(active_->level) + 1;
  if (options_.search == Search::labels || next > free_layer_count(graph_, node)) return false;
  std::unique_ptr<LayerProblem> wider = linearise(node, next);
  const Weights w = active_->solver.weights();
  const double primal = active_->solver.state().regulariser() + wider->blocks().mean_loss(w);
  if (primal - summary.dual <= options_.gap * (summary.anchor_primal - summary.dual)) return false;
  open(node, next, active_->mu, std::move(wider));
  return true;
}

std::optional<LayerUpdate> Refiner::update_layer(int node, RefineObserver& observer) {
  const Stopwatch watch;
  const double seconds_before = seconds_;
  observer.on_open(pass_ + 1, graph_.node(node).name);
  const std::vector<float> anchor = weights(node);
  if (pending_solve_)
    open_restored(node);
  else
    open(node, first_level(node), mu_[layer_index_], linearise(node, first_level(node)));

  const double active_seconds_before = active_->seconds;
  const auto keep_time = [&] {
    active_->seconds = active_seconds_before + watch.seconds();
    seconds_ = seconds_before + watch.seconds();
  };
  LayerUpdate update;
  update.pass = pass_ + 1;
  update.layer = graph_.node(node).name;
  update.before = current_.objective;
  while (true) {
    const double gap = gap_fraction(*active_);
    const Summary summary = active_->solver.solve(stopping_options(gap), [&](const SolveProgress& progress) {
      keep_time();
      observer.on_progress(progress);
      observer.on_safe_point();
      return !observer.stop_requested();
    });
    if (summary.reason == StopReason::interrupted) return std::nullopt;
    active_->epochs += static_cast<std::uint64_t>(summary.epochs);
    describe_solve(summary, update);
    if (options_.search == Search::full && widen(summary)) continue;

    const Candidate candidate = best_candidate(summary);
    update.predicted = candidate.trial.predicted();
    update.actual = candidate.trial.actual();
    if (settle(candidate, summary, anchor, update)) break;
  }
  update.next_mu = mu_[layer_index_];
  update.after = current_.objective;
  update.train_accuracy = current_.train_accuracy;
  update.val_accuracy = current_.val_accuracy;
  keep_time();
  update.seconds = active_->seconds;
  active_.reset();
  return update;
}

void Refiner::describe_solve(const Summary& summary, LayerUpdate& update) {
  update.form = active_->problem->form();
  update.cache_bytes = active_->problem->cache_bytes();
  update.dual_bytes = std::max(update.dual_bytes, active_->problem->blocks().block_bytes());
  update.epochs = static_cast<int>(active_->epochs);
  update.attempts = static_cast<int>(active_->attempt + active_->further + 1);
  update.primal = summary.primal;
  update.dual = summary.dual;
  update.gap = summary.gap;
  update.mu = active_->mu;
}

// What the trust region says of the candidate in the graph; true when the update is over.
bool Refiner::settle(const Candidate& candidate, const Summary& summary, std::span<const float> anchor,
                     LayerUpdate& update) {
  const Verdict verdict = judge(candidate.trial);
  const bool paper = options_.mode == RefineMode::paper;
  const double mu =
      options_.mu || paper ? active_->mu : next_mu(candidate.trial, verdict, active_->mu, options_.lambda);
  if (verdict == Verdict::accept || paper) {  // the paper takes whatever comes
    mu_[layer_index_] = mu;
    update.accepted = true;
    update.reason = fmt::format("{}, r = {:.2f}", to_string(summary.reason), candidate.trial.ratio());
    current_ = quality(candidate.training);
    return true;
  }
  std::ranges::copy(anchor, graph_.parameters().begin() + graph_.node(active_->node).trained.begin);
  if (verdict == Verdict::solve_further) {
    update.reason = "nothing to gain";
    return ++active_->further > 2;
  }
  // The model was wrong: less trust; at last a wider space, where H bounds the loss from further above. In
  // this order, because a wider space costs a convolution a psi for each sample.
  update.reason = "the objective would have risen";
  mu_[layer_index_] = mu;
  if (++active_->attempt >= kMostAttempts) return true;
  const bool last_attempt = active_->attempt + 1 == kMostAttempts;
  if (last_attempt && options_.search == Search::automatic && widen(summary)) return false;
  active_->mu = mu;
  active_->solver.set_regularisation(options_.lambda, mu);
  return false;
}

void Refiner::save(Checkpoint& checkpoint) {
  checkpoint.put_view("refine.parameters", std::span<const float>(graph_.parameters()));
  checkpoint.put_view("refine.best_parameters", std::span<const float>(best_parameters_));
  checkpoint.put("refine.start", flat(start_));
  checkpoint.put("refine.current", flat(current_));
  checkpoint.put("refine.best", flat(best_));
  checkpoint.put("refine.mu", mu_);
  checkpoint.put("refine.reals", std::vector<double>{pass_start_objective_, seconds_});
  checkpoint.put("refine.dual_bytes", std::vector<std::uint64_t>{dual_bytes_});
  checkpoint.put("refine.counts", std::vector<std::int32_t>{
                                      started_, pass_, static_cast<std::int32_t>(layer_index_), best_pass_,
                                      updates_, rejected_, rises_, active_ != nullptr,
                                      end_ ? 1 + static_cast<std::int32_t>(*end_) : 0, passes_below_best_});
  if (!active_) return;
  StateArchive archive = StateArchive::saving_to(checkpoint);
  active_->visit(archive);
}

void Refiner::restore(Checkpoint checkpoint) {
  std::ranges::copy(checkpoint.get<float>("refine.parameters", graph_.parameters().size()),
                    graph_.parameters().begin());
  best_parameters_ = checkpoint.take<float>("refine.best_parameters");
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
  if (counts[7] != 0) pending_solve_ = std::make_unique<Checkpoint>(std::move(checkpoint));
}

}  // namespace lwsvm
