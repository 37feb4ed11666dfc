#include "sgd/trainer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/nearest.h"
#include "base/random.h"
#include "base/simd.h"
#include "base/stopwatch.h"

namespace lwsvm {
namespace {

// What the seed is used for; each is a stream of its own.
constexpr std::uint64_t kOrderStream = 101;
constexpr std::uint64_t kDropoutStream = 102;

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
  make_solver(solver, learning_rate > 0 ? learning_rate : default_learning_rate(solver), 0);
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
      regularised_(graph.regularised_mask()),
      gradient_(graph.parameters().size(), 0.0f) {
  options_.validate();
  if (options_.learning_rate <= 0) options_.learning_rate = default_learning_rate(options_.solver);
  solver_ = make_solver(options_.solver, options_.learning_rate, graph.parameters().size());
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
  const std::int64_t first = position_;
  const Stopwatch watch;
  const double seconds_before = seconds_;
  LossSums running;
  while (position_ < samples && !out_of_time()) {
    const std::int64_t size = std::min<std::int64_t>(options_.batch, samples - position_);
    const auto batch =
        std::span(order).subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(size));
    const std::uint64_t draw =
        Random(options_.seed, kDropoutStream, static_cast<std::uint64_t>(epoch_ * samples + position_))
            .next();
    running.add(runner_.differentiate(train_, batch, loss_, draw, gradient_));
    add_regulariser();
    if (options_.schedule == "cosine")
      solver_->set_learning_rate(options_.learning_rate * (1 + std::cos(std::numbers::pi * progress())) / 2);
    solver_->update(graph_.parameters(), gradient_, threads_);
    position_ += size;
    seconds_ = seconds_before + watch.seconds();
    observer.on_batch(epoch_ + 1, position_, running.mean_loss());
    if (!std::isfinite(running.loss)) return TrainOutcome::diverged;
    if (position_ < samples && !out_of_time()) {
      observer.on_safe_point(false);
      if (observer.stop_requested()) return TrainOutcome::stopped;
    }
  }
  const double speed = static_cast<double>(position_ - first) / std::max(1e-9, seconds_ - seconds_before);
  ++epoch_;
  position_ = 0;
  const bool over = epoch_ == options_.epochs || out_of_time();
  last_ = evaluate(speed, epoch_ % options_.eval_every == 0 || over);
  observer.on_epoch(last_);
  if (last_.evaluated && !std::isfinite(last_.objective)) return TrainOutcome::diverged;
  observer.on_safe_point(true);
  return observer.stop_requested() && !over ? TrainOutcome::stopped : TrainOutcome::finished;
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
  const LossSums train = evaluator_.evaluate(train_, loss_);
  result.train_loss = train.mean_loss();
  result.objective = evaluator_.objective(train, Regulariser(graph_, options_.lambda));
  result.train_accuracy = train.accuracy();
  if (validation_) result.val_accuracy = evaluator_.evaluate(*validation_, loss_).accuracy();
  return result;
}

void Trainer::save(Checkpoint& checkpoint) const {
  solver_->save(checkpoint);
  checkpoint.put("trainer.position", std::vector<std::uint64_t>{static_cast<std::uint64_t>(epoch_),
                                                                static_cast<std::uint64_t>(position_)});
  checkpoint.put("trainer.seconds", std::vector<double>{seconds_});
}

void Trainer::restore(const Checkpoint& checkpoint) {
  solver_->restore(checkpoint);
  const auto position = checkpoint.get<std::uint64_t>("trainer.position", 2);
  epoch_ = static_cast<int>(position[0]);
  position_ = static_cast<std::int64_t>(position[1]);
  seconds_ = checkpoint.get<double>("trainer.seconds", 1)[0];
}

}  // namespace lwsvm
