#include "lwsvm/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/random.h"
#include "base/simd.h"
#include "base/stopwatch.h"

namespace lwsvm {
namespace {

// What the seed is used for; each is a stream of its own.
constexpr std::uint64_t kOrderStream = 201, kProbeStream = 202, kRaceStream = 203;

constexpr std::size_t kProbeSamples = 1000;
constexpr std::int64_t kBatch = 100;

// The race: from the middle outwards, a factor apart, as long as it gets better.
constexpr double kFirstEta = 1e-3, kEtaStep = 3, kLeastEta = 1e-7, kMostEta = 0.1;
constexpr std::int64_t kRaceBatches = 30, kLeastRaceBatches = 5;
constexpr double kRaceShare = 0.15;  // of the time that is left, for some five short runs
// A short run favours small steps: where many sweeps are to come, the largest eta that gains nearly as much
// as the best is taken.
constexpr double kNearlyAsGood = 0.8, kManySweeps = 6;

constexpr double kGrowth = 1.5, kStepBack = 1.0 / 3;
constexpr double kLastOverFirst = 0.02;  // what eta has come down to by the last sweep

std::vector<std::int32_t> some_samples(std::int64_t size, std::size_t wanted, std::uint64_t seed,
                                       std::uint64_t stream) {
  Random random(seed, stream);
  std::vector<std::int32_t> samples = random_permutation(static_cast<std::size_t>(size), random);
  samples.resize(std::min(wanted, samples.size()));
  return samples;
}

std::vector<int> nodes_of(const Regulariser& regulariser) {
  std::vector<int> nodes;
  for (const Regulariser::Layer& layer : regulariser.layers()) nodes.push_back(layer.node);
  return nodes;
}

LWSVM_SIMD void average_in(std::int64_t count, float share, const float* __restrict w,
                           float* __restrict average) {
  for (std::int64_t i = 0; i < count; ++i) average[i] += share * (w[i] - average[i]);
}

}  // namespace

struct Sweeper::Pass {
  std::uint64_t number = 0;
  std::vector<std::int32_t> order;
  std::int64_t position = 0;  // samples done
  std::uint64_t steps = 0;
  double loss = 0, gamma = 0;  // summed over steps
  std::vector<float> start;    // the covered weights, and their average since
  std::vector<float> average;
  bool last_is_better = false;
  double earlier_seconds = 0;
  Stopwatch watch{};

  double seconds() const { return earlier_seconds + watch.seconds(); }
};

Sweeper::Sweeper(const RefineGround& ground)
    : ground_(ground),
      graph_(ground.graph),
      runner_(ground.graph, ground.threads,
              {.learn = nodes_of(ground.regulariser), .training = false, .from = ground.from}),
      probe_(ground.train,
             some_samples(ground.train.size(), kProbeSamples, ground.options.seed, kProbeStream)),
      step_(ground.regulariser, ground.graph.parameters().size(), ground.threads),
      delta_(ground.graph.parameters().size(), 0.0f) {}

Sweeper::~Sweeper() = default;

std::optional<MoveResult> Sweeper::sweep(std::uint64_t number, double sweeps_left,
                                         const NetworkQuality& current, RefineObserver& observer) {
  if (!pass_) {
    if (eta_ == 0 && !race(number, sweeps_left, observer)) return std::nullopt;
    begin(number);
  }
  Pass& pass = *pass_;
  const auto samples = std::ssize(pass.order);
  bool out_of_time = false;
  while (pass.position < samples && !out_of_time) {
    const std::int64_t size = std::min(kBatch, samples - pass.position);
    take_step(std::span(pass.order)
                  .subspan(static_cast<std::size_t>(pass.position), static_cast<std::size_t>(size)));
    pass.position += size;
    observer.on_sweep_progress({static_cast<double>(pass.position) / static_cast<double>(samples),
                                pass.loss / static_cast<double>(pass.steps),
                                pass.gamma / static_cast<double>(pass.steps), eta_});
    observer.on_safe_point();
    if (observer.stop_requested()) return std::nullopt;
    out_of_time = observer.seconds_left() < ground_.reserve();
  }
  choose_candidate();

  MoveResult result;
  LayerUpdate& update = result.update;
  update.layer = "sweep";
  update.form = "sweep";
  update.before = current.objective;
  update.eta = eta_;
  update.gamma = pass.gamma / static_cast<double>(pass.steps);
  update.epochs = 1;
  update.work = 3 * static_cast<double>(pass.position) * ground_.flops_per_sample();
  const LossSums training = ground_.evaluator.evaluate(ground_.train, ground_.loss);
  const double objective = ground_.evaluator.objective(training, ground_.regulariser);
  update.actual = current.objective - objective;
  if (objective < current.objective) {
    update.accepted = true;
    update.reason = pass.last_is_better ? "the last iterate" : "the average";
    result.training = training;
    adapt_eta(pass.last_is_better, sweeps_left);
  } else {
    update.reason = "the objective would have risen";
    set_covered(pass.start);
    step_.forget_direction();
    eta_ = std::max(eta_ * kStepBack, kLeastEta);
  }
  if (out_of_time) update.reason += ", cut short: time is up";
  update.seconds = pass.seconds();
  pass_.reset();
  return result;
}

// Down in equal ratios to a small part of the first eta by the last sweep, unless there is still somewhere to
// go.
void Sweeper::adapt_eta(bool last_is_better, double sweeps_left) {
  const double aim = kLastOverFirst * first_eta_;
  const double shrinkage = eta_ > aim ? std::pow(aim / eta_, 1 / std::max(1.0, sweeps_left)) : 1.0;
  eta_ = std::clamp(eta_ * (last_is_better ? kGrowth : shrinkage), kLeastEta, kMostEta);
}

void Sweeper::begin(std::uint64_t number) {
  pass_ = std::make_unique<Pass>();
  pass_->number = number;
  Random random(ground_.options.seed, kOrderStream, number);
  pass_->order = random_permutation(static_cast<std::size_t>(ground_.train.size()), random);
  pass_->start = pass_->average = covered();
}

void Sweeper::take_step(std::span<const std::int32_t> batch) {
  Pass& pass = *pass_;
  const double loss = runner_.differentiate(ground_.train, batch, ground_.loss, 0, delta_).mean_loss();
  pass.gamma += step_.take(graph_.parameters(), delta_, loss, eta_);
  pass.loss += loss;
  ++pass.steps;
  const auto share = static_cast<float>(2.0 / static_cast<double>(pass.steps + 1));
  for (const Regulariser::Layer& layer : ground_.regulariser.layers())
    average_in(layer.range.size, share, graph_.parameters().data() + layer.range.begin,
               pass.average.data() + layer.packed);
}

// Of the last iterate and the average the one with the lower F on the probe, as it will be stored, is put
// into the graph.
void Sweeper::choose_candidate() {
  const std::vector<float> last = covered();
  set_covered(last);
  const double of_last = probe_objective();
  set_covered(pass_->average);
  const double of_average = probe_objective();
  pass_->last_is_better = of_last < of_average || !std::isfinite(of_average);
  if (pass_->last_is_better) set_covered(last);
}

double Sweeper::probe_objective() {
  return ground_.evaluator.objective(ground_.evaluator.evaluate(probe_, ground_.loss), ground_.regulariser);
}

// Short runs from the network as it is, the same batches for each; the best eta by the average iterate.
// False: the observer wanted a stop; the race is run again another time.
bool Sweeper::race(std::uint64_t number, double sweeps_left, RefineObserver& observer) {
  const double nearly = sweeps_left > kManySweeps ? kNearlyAsGood : 1.0;
  const std::vector<float> start = covered();
  Random random(ground_.options.seed, kRaceStream, number);
  std::vector<std::int32_t> samples =
      random_permutation(static_cast<std::size_t>(ground_.train.size()), random);
  samples.resize(std::min(samples.size(), race_samples(observer.seconds_left())));
  const double at_start = probe_objective();
  std::map<double, double> objectives;
  bool stopped = false;
  const auto objective_with = [&](double eta) {
    const double objective = objectives[eta] = run_short(eta, samples, start);
    observer.on_race(eta, objective);
    stopped = stopped || observer.stop_requested();
    return objective;
  };
  double best = objective_with(kFirstEta);
  const auto explore = [&](double factor) {
    for (double eta = kFirstEta * factor; eta >= kLeastEta && eta <= kMostEta && !stopped; eta *= factor) {
      const double objective = objective_with(eta);
      // Larger ones as long as they are nearly as good as the best; smaller ones until the start is beaten,
      // and on while they get better.
      const bool goes_on = factor > 1 ? at_start - objective > nearly * (at_start - best)
                                      : objective < best || !(best < at_start);
      best = std::min(best, objective);
      if (!goes_on || observer.seconds_left() < 2 * ground_.reserve()) return;
    }
  };
  explore(kEtaStep);
  if (objectives.size() <= 2) explore(1 / kEtaStep);
  set_covered(start);
  step_.forget();
  if (stopped) return false;
  eta_ = objectives.begin()->first;
  for (const auto& [eta, objective] : objectives)
    if (at_start - objective >= nearly * (at_start - best) && objective < at_start) eta_ = eta;
  first_eta_ = eta_;
  return true;
}

// How many samples a short run may have. A step takes about three times as long as an evaluation.
std::size_t Sweeper::race_samples(double seconds_left) const {
  constexpr std::size_t most = kRaceBatches * kBatch, least = kLeastRaceBatches * kBatch;
  const double sample_seconds = ground_.evaluation_seconds / static_cast<double>(ground_.train.size());
  const double affordable = kRaceShare * seconds_left / (5 * 3 * sample_seconds + 1e-12);
  return affordable >= most ? most : std::max(least, static_cast<std::size_t>(std::max(0.0, affordable)));
}

double Sweeper::run_short(double eta, std::span<const std::int32_t> samples, std::span<const float> start) {
  set_covered(start);
  step_.forget();
  pass_ = std::make_unique<Pass>();
  pass_->average.assign(start.begin(), start.end());
  const double before = eta_;
  eta_ = eta;
  for (std::size_t first = 0; first < samples.size(); first += kBatch)
    take_step(samples.subspan(first, std::min<std::size_t>(kBatch, samples.size() - first)));
  eta_ = before;
  set_covered(pass_->average);
  pass_.reset();
  const double objective = probe_objective();
  return std::isfinite(objective) ? objective : std::numeric_limits<double>::infinity();
}

std::vector<float> Sweeper::covered() const {
  std::vector<float> weights(static_cast<std::size_t>(ground_.regulariser.size()));
  for (const Regulariser::Layer& layer : ground_.regulariser.layers())
    std::copy_n(graph_.parameters().data() + layer.range.begin, layer.range.size,
                weights.data() + layer.packed);
  return weights;
}

void Sweeper::set_covered(std::span<const float> weights) {
  for (const Regulariser::Layer& layer : ground_.regulariser.layers()) {
    float* target = graph_.parameters().data() + layer.range.begin;
    std::copy_n(weights.data() + layer.packed, layer.range.size, target);
    if (ground_.options.as_stored)
      ground_.options.as_stored(layer.node, {target, static_cast<std::size_t>(layer.range.size)});
  }
}

void Sweeper::step_back() {
  if (!pass_) return;
  set_covered(pass_->start);
  pass_.reset();
}

double Sweeper::seconds() const {
  return pass_ ? pass_->seconds() : 0.0;
}

void Sweeper::save(Checkpoint& checkpoint) const {
  step_.save("sweep.step", checkpoint);
  checkpoint.put("sweep.eta", std::vector<double>{eta_, first_eta_});
  checkpoint.put("sweep.under_way", std::vector<std::uint64_t>{under_way()});
  if (!pass_) return;
  checkpoint.put(
      "sweep.counts",
      std::vector<std::uint64_t>{pass_->number, static_cast<std::uint64_t>(pass_->position), pass_->steps});
  checkpoint.put("sweep.sums", std::vector<double>{pass_->loss, pass_->gamma, pass_->seconds()});
  checkpoint.put_view("sweep.start", std::span<const float>(pass_->start));
  checkpoint.put_view("sweep.average", std::span<const float>(pass_->average));
}

void Sweeper::restore(const Checkpoint& checkpoint) {
  step_.restore("sweep.step", checkpoint);
  const auto etas = checkpoint.get<double>("sweep.eta", 2);
  eta_ = etas[0];
  first_eta_ = etas[1];
  if (checkpoint.get<std::uint64_t>("sweep.under_way", 1)[0] == 0) return;
  const auto counts = checkpoint.get<std::uint64_t>("sweep.counts", 3);
  begin(counts[0]);
  pass_->position = static_cast<std::int64_t>(counts[1]);
  pass_->steps = counts[2];
  const auto sums = checkpoint.get<double>("sweep.sums", 3);
  pass_->loss = sums[0];
  pass_->gamma = sums[1];
  pass_->earlier_seconds = sums[2];
  std::ranges::copy(checkpoint.get<float>("sweep.start", pass_->start.size()), pass_->start.begin());
  std::ranges::copy(checkpoint.get<float>("sweep.average", pass_->average.size()), pass_->average.begin());
}

}  // namespace lwsvm
