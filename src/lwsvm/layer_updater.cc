#include "lwsvm/layer_updater.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/stopwatch.h"

namespace lwsvm {
namespace {

constexpr double kFirstMuOverLambda = 100;  // of an inner solve: its first epoch stays close to w_t
constexpr std::uint64_t kMaxFurtherSolves = 2;

}  // namespace

// An open layer: its problem, its solver, and where the trust region is with it.
struct LayerUpdater::ActiveSolve {
  int node;
  std::uint64_t seed;
  std::unique_ptr<LayerProblem> problem;
  BcfwSolver solver;
  double mu;
  std::vector<float> anchor;  // w_t
  std::uint64_t level = 0;    // how many piecewise linear layers after it are free
  std::uint64_t attempt = 0;
  std::uint64_t further = 0;  // how often it was solved further
  std::uint64_t epochs = 0;   // of attempts that are over; so are work and dual_bytes, the maximum over them
  std::uint64_t dual_bytes = 0;
  double work = 0;
  double earlier_seconds = 0;
  Stopwatch watch{};

  double seconds() const { return earlier_seconds + watch.seconds(); }

  void visit(StateArchive& archive) {
    archive.scalar("solve.mu", mu);
    archive.scalar("solve.level", level);
    archive.scalar("solve.attempt", attempt);
    archive.scalar("solve.further", further);
    archive.scalar("solve.epochs", epochs);
    archive.scalar("solve.dual_bytes", dual_bytes);
    archive.scalar("solve.work", work);
    double spent = seconds();
    archive.scalar("solve.seconds", spent);
    earlier_seconds = spent - watch.seconds();
    solver.visit(archive);
  }
};

double RefineContext::flops_between(int first, int end) const {
  std::int64_t total = 0;
  for (int node = first; node < end; ++node) total += graph.flops(node);
  return static_cast<double>(total);
}

double RefineContext::update_flops(int node, double visits) const {
  const double layer = flops_between(node, node + 1);
  const double tail = flops_between(node + 1, static_cast<int>(graph.nodes().size()));
  return static_cast<double>(train_samples) * 3 * flops_per_sample() + visits * (2 * layer + 2 * tail);
}

LayerUpdater::LayerUpdater(const RefineContext& context)
    : context_(context), graph_(context.graph), options_(context.options) {}

LayerUpdater::~LayerUpdater() = default;

double LayerUpdater::initial_mu(int node) const {
  if (options_.mu) return *options_.mu;
  if (is_paper()) return kPaperMuOverLambda * options_.lambda;
  const int free = free_layer_count(graph_, node);
  if (free == 0) return kMinMuOverLambda * options_.lambda;
  const bool bounds_the_loss = first_level(node) == free;
  return (bounds_the_loss ? kBoundMuOverLambda : kLabelsMuOverLambda) * options_.lambda;
}

// With Search::full every layer starts at Y and is widened.
int LayerUpdater::first_level(int node) const {
  if (options_.search != Search::automatic) return 0;
  return automatic_free_layers(graph_, node, context_.largest_part, options_.memory);
}

std::optional<MoveResult> LayerUpdater::update(int node, double mu, std::uint64_t seed,
                                               const NetworkQuality& current, RefineObserver& observer) {
  current_ = current;
  if (pending_) {
    open_restored(node, seed);
  } else {
    const int level = first_level(node);
    open(node, level, mu, seed, linearise(node, level));
  }
  MoveResult result;
  LayerUpdate& update = result.update;
  update.layer = graph_.node(node).name;
  update.before = current.objective;
  bool out_of_time = false;
  while (true) {
    const Summary summary = active_->solver.solve(stopping_options(), [&](const SolveProgress& progress) {
      observer.on_progress(progress);
      observer.on_safe_point();
      out_of_time = observer.seconds_left() < context_.reserve();
      return !out_of_time && !observer.stop_requested();
    });
    if (summary.reason == StopReason::interrupted && !out_of_time) return std::nullopt;
    active_->work += context_.update_flops(node, static_cast<double>(summary.visits));
    active_->dual_bytes = std::max(active_->dual_bytes, active_->problem->blocks().block_bytes());
    active_->epochs += static_cast<std::uint64_t>(summary.epochs);
    describe_solve(summary, update);
    if (summary.reason == StopReason::overflow) {
      reject_overflow(update);
      break;
    }
    if (options_.search == Search::full && !out_of_time && widen(summary)) continue;

    const Candidate candidate = best_candidate(summary, out_of_time);
    update.predicted = candidate.trial.predicted();
    update.actual = candidate.trial.actual();
    if (conclude(candidate, summary, result) || out_of_time) break;
  }
  if (out_of_time) update.reason += ", cut short: time is up";
  update.seconds = active_->seconds();
  active_.reset();
  return result;
}

// The layer's problem with `level` layers free, at the network's current weights.
std::unique_ptr<LayerProblem> LayerUpdater::linearise(int node, int level) const {
  LayerProblemOptions options = problem_options(level);
  // A wider problem is looked at while the narrower one is still there.
  if (active_) options.taken = active_->problem->cache_bytes() + active_->problem->blocks().block_bytes();
  return std::make_unique<LayerProblem>(graph_, node, context_.train, context_.loss.margins(), options,
                                        context_.threads);
}

LayerProblemOptions LayerUpdater::problem_options(int level) const {
  LayerProblemOptions options;
  options.from = context_.from;
  options.memory = options_.memory;
  options.free_layers = level;
  if (is_paper()) {
    options.split = LossSplit::paper;
    options.step_rule = StepRule::single;
    options.exact_svm_layer = false;
  }
  return options;
}

// Where the steps of a round's batch are chosen together it is that of one rank, each rank having its share
// of it; or more, up to `--batch` of each rank, as far as that costs few epochs more (docs/mpi.md): for
// exact blocks any, for the steps of others where it is a small part of all samples. The greatest joint batch
// is a matter of its Gram matrix.
void LayerUpdater::share_out(int node, LayerProblem& problem, BcfwOptions& options) const {
  constexpr std::int64_t kGreatestJointBatch = 16;  // in batches of one rank
  constexpr std::int64_t kSmallPart = 100;
  const std::int64_t ranks = context_.team.size(), batch = options.schedule.batch_size;
  const auto set_batch = [&](std::int64_t of_all) {
    options.schedule.batch_size = static_cast<int>(std::clamp<std::int64_t>(of_all / ranks, 1, batch));
  };
  set_batch(batch);
  if (!problem.blocks().can_join()) return space_out(node, options);
  const std::int64_t most =
      problem.is_exact() ? ranks * batch : std::max(batch, context_.train_samples / kSmallPart);
  set_batch(std::min(most, kGreatestJointBatch * batch));
}

// Where they cannot be, and a batch is too little work for an exchange, a rank makes several such batches
// before the next. How much is too little is a constant and not measured, so that the same run takes the
// same steps every time. The ranks are about as careful as their changes are alike.
void LayerUpdater::space_out(int node, BcfwOptions& options) const {
  // Four cores on a network of 10 Gbit/s do so many in the time of a byte.
  constexpr double kFlopsPerByte = 64;
  constexpr double kMostBatches = 4;
  const double bytes = 2.0 * sizeof(float) * static_cast<double>(graph_.node(node).trained.size);
  const double flops =
      2 * options.schedule.batch_size * context_.flops_between(node, static_cast<int>(graph_.nodes().size()));
  options.rounds.batches = static_cast<int>(std::clamp(kFlopsPerByte * bytes / flops, 1.0, kMostBatches));
  options.rounds.caution = usual_caution(context_.team);
}

// Makes a solver for the problem, its dual at zero.
void LayerUpdater::open(int node, int level, double mu, std::uint64_t seed,
                        std::unique_ptr<LayerProblem> problem) {
  BcfwOptions options;
  options.lambda = options_.lambda;
  options.mu = mu;
  const bool dense = graph_.node(node).layer->kind() == LayerKind::dense;
  options.schedule.batch_size =
      dense ? options_.batch
            : batch_that_fits(graph_.node(node).trained.size, options_.memory, options_.batch);
  if (is_paper()) {
    options.schedule.fixed_batches = true;
  } else {
    options.first_mu = kFirstMuOverLambda * options_.lambda;
    options.schedule.rest_below = 0.1;
  }
  options.seed = seed;
  BlockAscent& blocks = problem->blocks();
  if (!context_.team.is_alone()) share_out(node, *problem, options);
  std::vector<float> anchor = weights(node);
  auto active = std::unique_ptr<ActiveSolve>(  // NOLINT(modernize-make-unique): an aggregate, for clang 14
      new ActiveSolve{node, seed, std::move(problem),
                      BcfwSolver(blocks, anchor, options, context_.threads,
                                 context_.regulariser.layer_centre(node), context_.team),
                      mu, anchor});
  active->level = static_cast<std::uint64_t>(level);
  active->solver.set_anchor_loss(current_.train_loss);  // every surrogate equals the loss at w_t
  if (active_) {                                        // the same update, in a wider space
    active->attempt = active_->attempt;
    active->further = active_->further;
    active->epochs = active_->epochs;
    active->dual_bytes = active_->dual_bytes;
    active->work = active_->work;
    active->earlier_seconds = active_->seconds();
  }
  active_ = std::move(active);
}

void LayerUpdater::open_restored(int node, std::uint64_t seed) {
  const std::uint64_t stored_level = pending_->get<std::uint64_t>("solve.level", 1)[0];
  if (stored_level > static_cast<std::uint64_t>(free_layer_count(graph_, node)))
    fail("checkpoint", "layer '{}' has no {} layers after it: start without this checkpoint",
         graph_.node(node).name, stored_level);
  const auto level = static_cast<int>(stored_level);
  const double mu = pending_->get<double>("solve.mu", 1)[0];
  open(node, level, mu, seed, linearise(node, level));
  StateArchive archive = StateArchive::loading_from(*pending_);
  active_->visit(archive);
  pending_.reset();
}

// A surrogate is not worth solving closely: the next linearisation gains more. That of an SVM layer is the
// loss itself.
StoppingOptions LayerUpdater::stopping_options() const {
  StoppingOptions stopping;
  stopping.max_epochs = options_.max_epochs;
  if (is_paper()) {
    stopping.gap_fraction = 0;
    stopping.relative_gap = 0;
    stopping.min_dual_rise = 0.01;
  } else {
    const double closer = active_->problem->is_svm_layer() ? 0.25 : 1.0;
    stopping.gap_fraction = options_.gap * closer * std::pow(0.3, static_cast<double>(active_->further));
  }
  return stopping;
}

// [BZK17, Obs. 1]: a solution of the small space is checked on the next larger one. There H is no smaller, so
// the dual stays a lower bound and P'(w) - D a true gap; if that is still within the tolerance, widening has
// nothing to give. The graph must hold w_t.
bool LayerUpdater::widen(const Summary& summary) {
  const int node = active_->node, next = static_cast<int>(active_->level) + 1;
  if (options_.search == Search::labels || next > free_layer_count(graph_, node)) return false;
  std::unique_ptr<LayerProblem> wider = linearise(node, next);
  const Weights w = active_->solver.weights();
  const double primal =
      active_->solver.state().regulariser() + mean_loss_of_all(context_.team, wider->blocks(), w);
  if (primal - summary.dual <= options_.gap * (summary.anchor_primal - summary.dual)) return false;
  open(node, next, active_->mu, active_->seed, std::move(wider));
  return true;
}

void LayerUpdater::describe_solve(const Summary& summary, LayerUpdate& update) const {
  update.form = active_->problem->form();
  update.cache_bytes = active_->problem->cache_bytes();
  update.dual_bytes = active_->dual_bytes;
  update.work = active_->work;
  update.epochs = static_cast<int>(active_->epochs);
  update.attempts = static_cast<int>(active_->attempt + active_->further + 1);
  update.primal = summary.primal;
  update.dual = summary.dual;
  update.gap = summary.gap;
  update.mu = active_->mu;
}

// The solver's weights are of no use, and it cannot go on: the layer stays as it was, and next time has less
// room.
void LayerUpdater::reject_overflow(LayerUpdate& update) {
  set_weights(active_->node, active_->anchor);
  update.gap = update.primal = update.dual = 0;
  update.next_mu = options_.mu || is_paper() ? active_->mu : 4 * active_->mu;
  update.reason = to_string(StopReason::overflow);
}

// Of the last iterate and the weighted average the one with the lower true objective, left in the graph. If
// neither has a finite one, F(w) is infinite and the graph holds w_t.
LayerUpdater::Candidate LayerUpdater::best_candidate(const Summary& summary, bool in_haste) {
  ActiveSolve& active = *active_;
  const Regulariser& regulariser = context_.regulariser;
  const double others = options_.lambda * (regulariser.half_square(graph_.parameters()) -
                                           regulariser.layer_half_square(active.node, active.anchor));
  Candidate best;
  best.trial.before = current_.objective;
  best.trial.after = std::numeric_limits<double>::infinity();
  std::vector<float> chosen;
  bool is_last = false;
  const auto consider = [&](std::span<const double> w, bool last) {
    const bool rounded = set_rounded(active.node, w);
    const LossSums training = context_.evaluator.evaluate(context_.judged, context_.loss);
    const double objective = context_.evaluator.objective(training, regulariser);
    if (!(objective < best.trial.after)) return;
    best.training = training;
    best.trial.after = objective;
    chosen = weights(active.node);
    is_last = last && !rounded;
  };
  // The paper takes the average; an SVM layer, which is solved more closely, is best where it is.
  const bool average_only = is_paper() || (in_haste && !active.problem->is_svm_layer());
  if (!average_only) consider(active.solver.weights().exact, true);
  if (average_only || !active.problem->is_svm_layer()) consider(active.solver.average_weights(), false);

  if (chosen.empty()) {
    set_weights(active.node, active.anchor);
    best.trial.model = current_.objective;
    return best;
  }
  set_weights(active.node, chosen);
  const WeightVector point{std::span<const float>(chosen)};
  if (in_haste) {  // what the model says would take another look at all samples
    best.trial.model = best.trial.after;
    return best;
  }
  const double surrogate =
      is_last && summary.certified ? summary.mean_loss : active.solver.mean_loss(point.view());
  best.trial.model =
      others + options_.lambda * regulariser.layer_half_square(active.node, chosen) + surrogate;
  return best;
}

// What the trust region says of the candidate in the graph; true when the update is over.
bool LayerUpdater::conclude(const Candidate& candidate, const Summary& summary, MoveResult& result) {
  ActiveSolve& active = *active_;
  LayerUpdate& update = result.update;
  const Verdict verdict = judge(candidate.trial);
  const double mu =
      options_.mu || is_paper() ? active.mu : next_mu(candidate.trial, verdict, active.mu, options_.lambda);
  update.next_mu = mu;
  const bool finite = std::isfinite(candidate.trial.after);
  if (verdict == Verdict::accept || (is_paper() && finite)) {  // the paper takes whatever comes
    update.accepted = true;
    update.reason = fmt::format("{}, r = {:.2f}", to_string(summary.reason), candidate.trial.ratio());
    result.training = candidate.training;
    return true;
  }
  set_weights(active.node, active.anchor);
  if (verdict == Verdict::solve_further) {
    update.reason = "nothing to gain";
    return ++active.further > kMaxFurtherSolves;
  }
  // The model was wrong: less trust; at last a wider space, where H bounds the loss from further above. In
  // this order, because a wider space costs a convolution a psi for each sample.
  update.reason = finite ? "the objective would have risen" : "the objective would not have been finite";
  if (!finite && mu == active.mu) return true;  // fixed: nothing would hold the next attempt back
  if (++active.attempt >= kMaxAttempts) return true;
  const bool last_attempt = active.attempt + 1 == kMaxAttempts;
  if (last_attempt && options_.search == Search::automatic && widen(summary)) return false;
  active_->mu = mu;
  active_->solver.set_regularisation(options_.lambda, mu);
  return false;
}

std::vector<float> LayerUpdater::weights(int node) const {
  const auto begin = graph_.parameters().begin() + graph_.node(node).trained.begin;
  return {begin, begin + graph_.node(node).trained.size};
}

void LayerUpdater::set_weights(int node, std::span<const float> w) {
  std::ranges::copy(w, graph_.parameters().begin() + graph_.node(node).trained.begin);
}

// True if they are further from w than float32 is: rounded to what the file can hold.
bool LayerUpdater::set_rounded(int node, std::span<const double> w) {
  float* target = graph_.parameters().data() + graph_.node(node).trained.begin;
  std::transform(w.begin(), w.end(), target, [](double x) { return static_cast<float>(x); });
  return options_.as_stored && options_.as_stored(node, {target, w.size()});
}

double LayerUpdater::seconds() const {
  return active_ ? active_->seconds() : 0.0;
}

void LayerUpdater::save(Checkpoint& checkpoint) const {
  StateArchive archive = StateArchive::saving_to(checkpoint);
  active_->visit(archive);
}

void LayerUpdater::restore(Checkpoint checkpoint) {
  pending_ = std::make_unique<Checkpoint>(std::move(checkpoint));
}

}  // namespace lwsvm
