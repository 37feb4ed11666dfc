#include "sgd/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"
#include "base/random.h"
#include "base/sample_subset.h"
#include "base/simd.h"
#include "base/stopwatch.h"

namespace lwsvm {
namespace {

// What the seed is used for; each is a stream of its own.
constexpr std::uint64_t kOrderStream = 101;
constexpr std::uint64_t kDropoutStream = 102;
constexpr std::uint64_t kProbeStream = 103;

// Frank-Wolfe steps: the race for their radius.
constexpr std::size_t kProbeSamples = 2000;
constexpr double kMinRaceSteps = 50;
constexpr double kRaceShareOfSteps = 0.02;  // of all steps, for each short run

std::vector<ParameterRange> all_trained(const Graph& graph) {
  std::vector<ParameterRange> ranges;
  for (const Node& node : graph.nodes())
    if (node.trained.size > 0) ranges.push_back(node.trained);
  return ranges;
}

LWSVM_SIMD void add_decay(std::int64_t n, float lambda, const float* __restrict w,
                          const std::uint8_t* __restrict mask, float* __restrict gradient) {
  for (std::int64_t i = 0; i < n; ++i) gradient[i] += mask[i] ? lambda * w[i] : 0.0f;
}

}  // namespace

void TrainOptions::validate() const {
  if (!(lambda >= 0) || !std::isfinite(lambda)) fail("train", "lambda is {}; it must be 0 or more", lambda);
  if (epochs < 0) fail("train", "{} epochs; give 0 or more", epochs);
  if (schedule != "constant" && schedule != "cosine")
    fail_unknown("train", "schedule", schedule, std::vector<std::string>{"constant", "cosine"});
  if (batch < 1) fail("train", "a batch of {}; give 1 or more", batch);
  if (eval_every < 1) fail("train", "evaluating every {} epochs; give 1 or more", eval_every);
  if (solver != kFrankWolfe) {
    make_solver(solver, learning_rate > 0 ? learning_rate : default_learning_rate(solver), 0);
    return;
  }
  if (learning_rate > 0) fail("train", "--solver dfw has no learning rate; leave out --lr");
  if (schedule != "constant") fail("train", "--solver dfw has no schedule to choose; leave out --schedule");
}

Trainer::Trainer(Graph& graph, const SampleSource& train, const SampleSource* validation, const Loss& loss,
                 const TrainOptions& options, const Threads& threads)
    : graph_(graph),
      train_(train),
      validation_(validation && validation->size() > 0 ? validation : nullptr),
      loss_(loss),
      options_(options),
      threads_(threads),
      runner_(graph, threads),
      evaluator_(graph, threads),
      regulariser_(graph, options.lambda),
      smoothed_loss_(loss),
      regularised_(graph.regularised_mask()),
      gradient_(graph.parameters().size(), 0.0f) {
  options_.validate();
  if (options_.solver == kFrankWolfe) {
    frank_wolfe_.emplace(regulariser_, all_trained(graph), graph.parameters().size(), threads);
    constant_answer_ = constant_answer(train, loss);
    return;
  }
  rate_ = options_.learning_rate > 0 ? options_.learning_rate : default_learning_rate(options_.solver);
  solver_ = make_solver(options_.solver, rate_, graph.parameters().size());
}

double Trainer::progress() const {
  const double done =
      epoch_ + static_cast<double>(position_) / static_cast<double>(std::max<std::int64_t>(1, train_.size()));
  const double by_epochs = done / std::max(1, options_.epochs);
  return std::min(1.0,
                  options_.time_limit > 0 ? std::max(by_epochs, seconds_ / options_.time_limit) : by_epochs);
}

bool Trainer::out_of_time() const {
  return options_.time_limit > 0 && seconds_ >= options_.time_limit;
}

TrainOutcome Trainer::run(TrainObserver& observer) {
  if (is_frank_wolfe() && rate_ == 0 && options_.epochs > 0 && !find_radius(observer))
    return TrainOutcome::stopped;
  while (epoch_ < options_.epochs && !out_of_time()) {
    const TrainOutcome outcome = run_epoch(observer);
    if (outcome != TrainOutcome::finished) return outcome;
  }
  return TrainOutcome::finished;
}

TrainOutcome Trainer::run_epoch(TrainObserver& observer) {
  const std::int64_t samples = train_.size();
  Random order_random(options_.seed, kOrderStream, static_cast<std::uint64_t>(epoch_));
  const std::vector<std::int32_t> order = random_permutation(static_cast<std::size_t>(samples), order_random);
  if (is_frank_wolfe() && position_ == 0) begin_epoch();
  const std::int64_t first = position_;
  const Stopwatch watch;
  const double seconds_before = seconds_;
  const bool falls = is_frank_wolfe() || options_.schedule == "cosine";
  LossSums running;
  while (position_ < samples && !out_of_time()) {
    const std::int64_t size = std::min<std::int64_t>(options_.batch, samples - position_);
    const auto batch =
        std::span(order).subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(size));
    const std::uint64_t draw =
        Random(options_.seed, kDropoutStream, static_cast<std::uint64_t>(epoch_ * samples + position_))
            .next();
    running.add(take_step(batch, draw, falls ? part_left(progress()) : 1));
    position_ += size;
    seconds_ = seconds_before + watch.seconds();
    observer.on_batch(epoch_ + 1, position_, running.mean_loss());
    if (!std::isfinite(running.loss) && !is_frank_wolfe()) return TrainOutcome::diverged;
    if (position_ < samples && !out_of_time()) {
      observer.on_safe_point(false);
      if (observer.stop_requested()) return TrainOutcome::stopped;
    }
  }
  const double speed = static_cast<double>(position_ - first) / std::max(1e-9, seconds_ - seconds_before);
  ++epoch_;
  position_ = 0;
  const bool over = epoch_ == options_.epochs || out_of_time();
  last_ = evaluate(speed, epoch_ % options_.eval_every == 0 || over || is_frank_wolfe());
  observer.on_epoch(last_);
  if (last_.evaluated && !std::isfinite(last_.objective)) return TrainOutcome::diverged;
  observer.on_safe_point(true);
  return observer.stop_requested() && !over ? TrainOutcome::stopped : TrainOutcome::finished;
}

LossSums Trainer::take_step(std::span<const std::int32_t> batch, std::uint64_t draw, double left) {
  if (is_frank_wolfe()) {
    if (loss_.kind() == LossKind::hinge) smoothed_loss_.set_temperature(left * constant_answer_.loss);
    const LossSums sums = runner_.differentiate(train_, batch, smoothed_loss_, draw, gradient_);
    frank_wolfe_->take(graph_.parameters(), gradient_, sums.mean_loss(), left * rate_);
    return sums;
  }
  const LossSums sums = runner_.differentiate(train_, batch, loss_, draw, gradient_);
  add_regulariser();
  solver_->set_learning_rate(left * rate_);
  solver_->update(graph_.parameters(), gradient_, threads_);
  return sums;
}

// Short runs from the network as it is, each with a radius that comes down to zero. False: a stop was asked
// for.
bool Trainer::find_radius(TrainObserver& observer) {
  const std::vector<std::int32_t> order =
      random_samples(train_.size(), train_.size(), options_.seed, kProbeStream);
  const SampleSubset probe(train_, random_samples(train_.size(), kProbeSamples, options_.seed, kProbeStream));
  const std::vector<float> parameters = graph_.parameters(), statistics = graph_.statistics();
  const auto on_probe = [&] { return evaluator_.evaluate(probe, loss_); };
  const double all_steps =
      static_cast<double>(options_.epochs) * static_cast<double>(train_.size()) / options_.batch;
  const auto steps = static_cast<std::int64_t>(
      std::max({1.0, kRaceShareOfSteps * std::min(all_steps, 1e9), std::min(kMinRaceSteps, all_steps / 4)}));
  const auto go_back = [&] {
    graph_.parameters() = parameters;
    graph_.statistics() = statistics;
    frank_wolfe_->forget();
  };
  const auto short_run = [&](double radius) -> std::optional<ShortRun> {
    rate_ = radius;
    for (std::int64_t step = 0; step < steps; ++step) {
      if (observer.stop_requested()) {  // of many epochs even a short run is long
        go_back();
        return std::nullopt;
      }
      const std::int64_t begin = step * options_.batch % std::ssize(order);
      const std::int64_t size = std::min<std::int64_t>(options_.batch, std::ssize(order) - begin);
      take_step(std::span(order).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size)),
                static_cast<std::uint64_t>(step),
                part_left(static_cast<double>(step) / static_cast<double>(steps)));
    }
    const LossSums sums = on_probe();
    const ShortRun found{evaluator_.objective(sums, regulariser_), !is_dead(sums)};
    observer.on_race(radius, found.objective);
    go_back();
    return found;
  };
  const std::optional<double> winner =
      race_for_radius(evaluator_.objective(on_probe(), regulariser_), short_run);
  rate_ = winner.value_or(0);
  return winner.has_value();
}

void Trainer::begin_epoch() {
  epoch_start_.parameters = graph_.parameters();
  epoch_start_.statistics = graph_.statistics();
  if (epoch_ > 0) return;  // the last epoch has left what it is worth
  const LossSums training = evaluator_.evaluate(train_, loss_);
  epoch_start_.objective = evaluator_.objective(training, regulariser_);
  epoch_start_.alive = constant_answer_.is_beaten_by(training);
}

// From random weights a short run may not beat a constant answer yet; if it is on its way, its first layer
// has a slope on the last batch.
bool Trainer::is_dead(const LossSums& sums) const {
  if (constant_answer_.is_beaten_by(sums)) return false;
  const ParameterRange first = all_trained(graph_).front();
  const auto slope = std::span(gradient_).subspan(static_cast<std::size_t>(first.begin),
                                                  static_cast<std::size_t>(first.size));
  return std::ranges::all_of(slope, [](float g) { return g == 0; });
}

// F fell, and the network is not dead, nor worse than a constant answer unless it was.
bool Trainer::epoch_is_good(const LossSums& training, double objective) const {
  if (is_dead(training)) return false;
  const bool alive = constant_answer_.is_beaten_by(training);
  return alive && !epoch_start_.alive ? std::isfinite(objective)
                                      : objective < epoch_start_.objective && alive == epoch_start_.alive;
}

void Trainer::take_back() {
  graph_.parameters() = epoch_start_.parameters;
  graph_.statistics() = epoch_start_.statistics;
  frank_wolfe_->forget_direction();
  rate_ = std::max(rate_ / kRadiusStep, kMinRadius);
}

void Trainer::add_regulariser() {
  threads_.for_ranges(
      static_cast<std::int64_t>(gradient_.size()), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
        add_decay(end - begin, static_cast<float>(options_.lambda), graph_.parameters().data() + begin,
                  regularised_.data() + begin, gradient_.data() + begin);
      });
}

EpochResult Trainer::evaluate(double samples_per_second, bool wanted) {
  EpochResult result;
  result.epoch = epoch_;
  result.samples_per_second = samples_per_second;
  result.seconds = seconds_;
  result.evaluated = wanted;
  if (!wanted) return result;
  LossSums train = evaluator_.evaluate(train_, loss_);
  result.objective = evaluator_.objective(train, regulariser_);
  if (is_frank_wolfe() && !epoch_is_good(train, result.objective)) {
    result.taken_back = true;
    take_back();
    train = evaluator_.evaluate(train_, loss_);
    result.objective = evaluator_.objective(train, regulariser_);
  }
  epoch_start_.objective = result.objective;
  epoch_start_.alive = constant_answer_.is_beaten_by(train);
  result.train_loss = train.mean_loss();
  result.train_accuracy = train.accuracy();
  if (validation_) result.val_accuracy = evaluator_.evaluate(*validation_, loss_).accuracy();
  return result;
}

void Trainer::save(Checkpoint& checkpoint) const {
  checkpoint.put("trainer.position", std::vector<std::uint64_t>{static_cast<std::uint64_t>(epoch_),
                                                                static_cast<std::uint64_t>(position_)});
  checkpoint.put("trainer.seconds", std::vector<double>{seconds_});
  if (!is_frank_wolfe()) {
    solver_->save(checkpoint);
    return;
  }
  frank_wolfe_->save("trainer.step", checkpoint);
  checkpoint.put("trainer.trust",
                 std::vector<double>{rate_, epoch_start_.objective, epoch_start_.alive ? 1.0 : 0.0});
  checkpoint.put_view("trainer.start_parameters", std::span<const float>(epoch_start_.parameters));
  checkpoint.put_view("trainer.start_statistics", std::span<const float>(epoch_start_.statistics));
}

void Trainer::restore(const Checkpoint& checkpoint) {
  const auto position = checkpoint.get<std::uint64_t>("trainer.position", 2);
  epoch_ = static_cast<int>(position[0]);
  position_ = static_cast<std::int64_t>(position[1]);
  seconds_ = checkpoint.get<double>("trainer.seconds", 1)[0];
  if (!is_frank_wolfe()) {
    solver_->restore(checkpoint);
    return;
  }
  frank_wolfe_->restore("trainer.step", checkpoint);
  const auto trust = checkpoint.get<double>("trainer.trust", 3);
  rate_ = trust[0];
  epoch_start_.objective = trust[1];
  epoch_start_.alive = trust[2] != 0;
  const auto parameters = checkpoint.get<float>("trainer.start_parameters");
  const auto statistics = checkpoint.get<float>("trainer.start_statistics");
  epoch_start_.parameters.assign(parameters.begin(), parameters.end());
  epoch_start_.statistics.assign(statistics.begin(), statistics.end());
}

}  // namespace lwsvm
