#include "lwsvm/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/random.h"
#include "base/simd.h"
#include "base/stopwatch.h"

namespace lwsvm {
namespace {

// What the seed is used for; each is a stream of its own.
constexpr std::uint64_t kOrderStream = 201, kProbeStream = 202, kRaceStream = 203, kCopyStream = 204;

constexpr std::int64_t kProbeSamples = 2000, kJudgeSamples = 4000, kMinJudgeSamples = 500;

// The longer of two short runs takes this part of the batches that there is time for; where these are few, so
// many, but no more than a larger part, or twelve.
constexpr double kRaceShare = 0.03, kRaceBatches = 45, kLargerRaceShare = 0.05, kMinRaceBatches = 12;
constexpr double kMaxRaceShare = 0.2;  // of the time, for all short runs

// Three sweeps, each three times as long as the last, or one, if the first of three would not be a whole
// pass. The last one takes what is left but for an update of every layer; but for little, if these would take
// more than half of it.
constexpr double kFirstShare = 1.0 / 18, kLengthening = 3, kMaxShare = 0.9, kMaxLayerShare = 0.5;
constexpr double kSolveShare = 0.02;  // of the time, for an SVM layer
constexpr double kUsualVisits = 8;    // per sample, of a layer's update
// A sweep that falls behind its time comes down faster.
constexpr double kLateness = 1.1;

constexpr double kAsGoodAsNothing = 1e-3;  // left of the radius
constexpr double kAveragedShare = 0.25;    // of a sweep: about what the average is over

std::vector<int> nodes_of(const Regulariser& regulariser) {
  std::vector<int> nodes;
  for (const Regulariser::Layer& layer : regulariser.layers()) nodes.push_back(layer.node);
  return nodes;
}

std::vector<ParameterRange> ranges_of(const Regulariser& regulariser) {
  std::vector<ParameterRange> ranges;
  for (const Regulariser::Layer& layer : regulariser.layers()) ranges.push_back(layer.range);
  return ranges;
}

const SampleSource& judging_source(const RefineContext& context) {
  const std::int64_t least = context.options.few_judges ? 1 : kMinJudgeSamples;
  return context.validation && context.validation_samples >= least ? *context.validation : context.train;
}

// Of a slow network no more are looked at than F is over.
std::int64_t judge_samples(const RefineContext& context) {
  return std::clamp(context.judged_samples, kMinJudgeSamples, kJudgeSamples);
}

// Of so many samples of all ranks.
std::int64_t own_part(const RefineContext& context, std::int64_t samples) {
  return part_size(samples, context.team.rank(), context.team.size());
}

LWSVM_SIMD void average_in(std::int64_t count, float share, const float* __restrict w,
                           float* __restrict average) {
  for (std::int64_t i = 0; i < count; ++i) average[i] += share * (w[i] - average[i]);
}

}  // namespace

struct Sweeper::Run {
  std::uint64_t number = 0;
  bool is_short = false;  // to find the radius
  std::uint64_t pass = 0;
  std::vector<std::int32_t> order;  // of this pass
  std::int64_t position = 0;        // samples done in this pass
  std::uint64_t steps = 0, planned_steps = 1;
  double planned_seconds = std::numeric_limits<double>::infinity();
  double reserve = 0;          // seconds that must be left in the end
  double loss = 0, gamma = 0;  // summed over steps
  std::vector<float> start;    // the covered weights to go back to
  std::vector<float> average;  // of the last iterates
  bool last_is_better = false;
  double earlier_seconds = 0;
  std::optional<double> seen_seconds;  // of several ranks: the first one's, as all must see the same
  Stopwatch watch{};

  double seconds() const { return earlier_seconds + watch.seconds(); }
  void look_at_clock(Team& team) {
    if (!team.is_alone() && std::isfinite(planned_seconds)) seen_seconds = of_first(team, seconds());
  }
  double progress() const {
    return std::max(static_cast<double>(steps) / static_cast<double>(planned_steps),
                    seen_seconds.value_or(seconds()) / planned_seconds);
  }
};

Sweeper::Sweeper(const RefineContext& context)
    : context_(context),
      samples_(context.options.sweep_samples ? *context.options.sweep_samples : context.train),
      graph_(context.graph),
      runner_(context.graph, context.threads,
              {.learn = nodes_of(context.regulariser), .training = false, .from = context.from}),
      probe_(context.train, random_samples(context.train.size(),
                                           own_part(context, std::min(kProbeSamples, context.judged_samples)),
                                           context.options.seed, kProbeStream)),
      judge_(judging_source(context),
             random_samples(judging_source(context).size(), own_part(context, judge_samples(context)),
                            context.options.seed, kProbeStream)),
      constant_answer_(constant_answer(judge_, context.loss, context.team)),
      smoothed_loss_(context.loss),
      step_(context.regulariser, ranges_of(context.regulariser), context.graph.parameters().size(),
            context.threads),
      delta_(context.graph.parameters().size(), 0.0f),
      exchange_(context.team) {}

Sweeper::~Sweeper() = default;

std::optional<MoveResult> Sweeper::sweep(std::uint64_t number, double passes_left,
                                         const NetworkQuality& current, RefineObserver& observer) {
  if (!run_) {
    const std::vector<float> start = covered();
    temperature_ = std::min(current.train_loss, constant_answer_.loss);
    if (eta_ == 0 && context_.options.radius) eta_ = *context_.options.radius;
    if (eta_ == 0 && !find_radius(number, passes_left, observer)) return std::nullopt;
    begin(number, passes_left, observer.seconds_left());
    run_->start = start;
  }
  Run& run = *run_;
  bool out_of_time = false;
  while (run.progress() < 1 && !out_of_time) {
    const double eta = take_step(eta_);
    const auto steps = static_cast<double>(run.steps);
    observer.on_sweep_progress({run.progress(), run.loss / steps, run.gamma / steps, eta});
    observer.on_safe_point();
    if (observer.stop_requested()) return std::nullopt;
    out_of_time = observer.seconds_left() < run.reserve + step_seconds();
  }
  const bool came_down = part_left(run.progress()) < kAsGoodAsNothing;
  choose_candidate();

  MoveResult result;
  LayerUpdate& update = result.update;
  const double passes =
      static_cast<double>(run.steps) * static_cast<double>(kBatch) / static_cast<double>(pass_size());
  update.layer = "sweep";
  update.form = "sweep";
  update.before = current.objective;
  update.eta = eta_;
  update.gamma = run.gamma / static_cast<double>(std::max<std::uint64_t>(1, run.steps));
  update.epochs = std::max(1, static_cast<int>(std::lround(passes)));
  update.work = passes * flops_per_pass();
  const LossSums training =
      context_.features ? context_.features->evaluate_training(context_.loss) : loss_on(context_.judged);
  const double objective = objective_of(training);
  update.actual = current.objective - objective;
  if (objective < current.objective) {
    update.accepted = true;
    update.reason = run.last_is_better ? "the last iterate" : "the average";
    result.training = training;
  } else {
    update.reason = "the objective would have risen";
    set_covered(run.start);
    step_.forget_direction();
    eta_ = std::max(eta_ / kRadiusStep, kMinRadius);
  }
  if (out_of_time && !came_down) update.reason += ", cut short: time is up";
  update.seconds = run.seconds();
  last_passes_ = passes;
  run_.reset();
  return result;
}

// About how many passes an update of every opened layer takes the time of.
double Sweeper::passes_for_layers() const {
  double flops = 0;
  for (const Regulariser::Layer& layer : context_.regulariser.layers())
    flops += context_.update_flops(layer.node, kUsualVisits * static_cast<double>(context_.train_samples));
  return flops / flops_per_pass();
}

// And whether it is the last one of those that grow.
std::pair<double, bool> Sweeper::next_length(double passes_left) const {
  if (passes_left < 2 || context_.options.one_sweep) return {passes_left, true};
  const double wanted = last_passes_ > 0 ? kLengthening * last_passes_ : kFirstShare * passes_left;
  const bool leaves_room_for_another = kLengthening * wanted < passes_left - wanted;
  if (wanted >= 1 && leaves_room_for_another) return {wanted, false};
  const double layers = context_.options.moves == Moves::automatic ? passes_for_layers() : passes_left;
  return {layers <= kMaxLayerShare * passes_left ? passes_left - layers : kMaxShare * passes_left, true};
}

void Sweeper::begin(std::uint64_t number, double passes_left, double seconds_left) {
  double passes = 0;
  std::tie(passes, has_grown_) = next_length(passes_left);
  run_ = std::make_unique<Run>();
  run_->number = number;
  run_->planned_steps = static_cast<std::uint64_t>(
      std::max(1.0, std::ceil(passes * static_cast<double>(pass_size()) / static_cast<double>(kBatch))));
  run_->reserve = context_.reserve();
  if (std::isfinite(seconds_left)) {
    // The features that it leaves are worth an SVM layer, which is solved in no time.
    if (context_.features && context_.options.moves == Moves::automatic)
      run_->reserve += kSolveShare * seconds_left;
    // It must have come down before its own judgement is due: cut off while eta is large, it would be lost.
    run_->planned_seconds = std::max(
        0.0, std::min(kLateness * seconds_left * passes / passes_left, seconds_left - run_->reserve));
  }
  run_->look_at_clock(context_.team);
  run_->order = order_of_pass(*run_);
  run_->start = run_->average = covered();
}

// The part of a pass's samples in whose place any of their copies, themselves included, may be drawn.
double Sweeper::copied_share(const Run& run) const {
  if (!context_.options.sweep_samples) return 1;  // copies count in F like all samples
  if (run.is_short) return 0;
  const double steps_of_a_pass = std::ceil(static_cast<double>(pass_size()) / static_cast<double>(kBatch));
  return part_left(static_cast<double>(run.pass) * steps_of_a_pass / static_cast<double>(run.planned_steps));
}

// Of this rank's samples.
std::vector<std::int32_t> Sweeper::order_of_pass(const Run& run) const {
  const std::uint64_t name = (run.number << 20) + run.pass;
  const std::uint64_t seed = context_.options.seed + (static_cast<std::uint64_t>(context_.team.rank()) << 32);
  Random random(seed, kOrderStream, name);
  const std::int64_t samples = context_.train.size() / context_.train.copies();
  std::vector<std::int32_t> order = random_permutation(static_cast<std::size_t>(samples), random);
  const std::int64_t copies = samples_.copies();
  const double share = copied_share(run);
  if (copies == 1 || share == 0) return order;
  Random copy(seed, kCopyStream, name);
  for (std::int32_t& sample : order)
    if (share == 1 || copy.uniform() < share)
      sample += static_cast<std::int32_t>(
          static_cast<std::int64_t>(copy.below(static_cast<std::uint64_t>(copies))) * samples);
  return order;
}

// One batch, all layers, with what is left of the radius and of the temperature. Returns that radius.
double Sweeper::take_step(double eta) {
  const Stopwatch watch;
  Run& run = *run_;
  const double left = part_left(run.progress());
  smoothed_loss_.set_temperature(left * temperature_);
  if (run.position == pass_size()) {
    ++run.pass;
    run.order = order_of_pass(run);
    run.position = 0;
  }
  const std::int64_t size = std::min(kBatch, pass_size() - run.position);
  const double loss = differentiate(run.order, run.position, size);
  run.gamma += step_.take(graph_.parameters(), delta_, loss, left * eta);
  run.loss += loss;
  run.position += size;
  ++run.steps;
  const double share = std::max(2.0 / static_cast<double>(run.steps + 1),
                                2.0 / (kAveragedShare * static_cast<double>(run.planned_steps) + 1));
  for (const Regulariser::Layer& layer : context_.regulariser.layers())
    average_in(layer.range.size, static_cast<float>(std::min(1.0, share)),
               graph_.parameters().data() + layer.range.begin, run.average.data() + layer.packed);
  run.look_at_clock(context_.team);
  if (context_.team.is_alone()) step_seconds_ = watch.seconds();
  return left * eta;
}

// A step goes forward and back, which is about three looks at its samples. Several ranks go by that alone:
// each would see another time.
double Sweeper::step_seconds() const {
  if (step_seconds_ > 0) return step_seconds_;
  return 3 * context_.evaluation_seconds * static_cast<double>(kBatch) /
         static_cast<double>(std::max<std::int64_t>(1, context_.judged_samples));
}

// The mean loss of a batch that begins at a position of the pass, and its gradient. Each rank has its share
// of the pass, and of each batch what falls on that share; their gradients are added up.
double Sweeper::differentiate(std::span<const std::int32_t> order, std::int64_t position, std::int64_t size) {
  const std::int64_t own = std::ssize(order), begin = own * position / pass_size(),
                     end = own * (position + size) / pass_size();
  const auto batch = order.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  LossSums sums;
  samples_.expect(batch);
  if (!batch.empty()) sums = runner_.differentiate(samples_, batch, smoothed_loss_, 0, delta_);
  if (context_.team.is_alone()) return sums.mean_loss();

  const double mine[] = {sums.loss, static_cast<double>(batch.size())};
  const std::vector<double> all = gather(context_.team, mine);
  double loss = 0, samples = 0;
  for (std::size_t k = 0; k < all.size(); k += 2) {
    loss += all[k];
    samples += all[k + 1];
  }
  std::vector<double> shares;
  for (std::size_t k = 0; k < all.size(); k += 2) shares.push_back(all[k + 1] / samples);
  packed_.assign(static_cast<std::size_t>(context_.regulariser.size()), 0.0f);
  const auto for_layers = [&](const auto& copy) {
    for (const Regulariser::Layer& layer : context_.regulariser.layers())
      copy(delta_.data() + layer.range.begin, packed_.data() + layer.packed, layer.range.size);
  };
  if (!batch.empty())
    for_layers([](float* delta, float* packed, std::int64_t count) { std::copy_n(delta, count, packed); });
  exchange_.scatter(packed_);
  exchange_.combine(shares, packed_);
  for_layers([](float* delta, float* packed, std::int64_t count) { std::copy_n(packed, count, delta); });
  return loss / samples;
}

// Of the last iterate and the average the one with the lower F on the probe, as it will be stored, is put
// into the graph.
void Sweeper::choose_candidate() {
  const std::vector<float> last = covered();
  set_covered(last);
  const double of_last = objective_of(loss_on(probe_));
  set_covered(run_->average);
  const double of_average = objective_of(loss_on(probe_));
  run_->last_is_better = of_last < of_average || !std::isfinite(of_average);
  if (run_->last_is_better) set_covered(last);
}

LossSums Sweeper::loss_on(const SampleSource& samples) {
  return context_.evaluator.evaluate(samples, context_.loss);
}

double Sweeper::objective_of(const LossSums& sums) const {
  return context_.evaluator.objective(sums, context_.regulariser);
}

// From the network as it is. False: the observer wanted a stop.
bool Sweeper::short_run(std::uint64_t number, double eta, double batches, std::span<const float> start,
                        RefineObserver& observer) {
  set_covered(start);
  step_.forget();
  run_ = std::make_unique<Run>();
  run_->number = (kRaceStream << 20) + number;
  run_->is_short = true;
  run_->order = order_of_pass(*run_);
  run_->average.assign(start.begin(), start.end());
  run_->planned_steps = static_cast<std::uint64_t>(batches);
  bool stopped = observer.stop_requested();  // of many passes even a short run is long
  while (run_->steps < run_->planned_steps && !stopped &&
         observer.seconds_left() > 2 * context_.reserve() + step_seconds()) {
    take_step(eta);
    stopped = observer.stop_requested();
  }
  run_.reset();
  set_covered(covered());  // as it will be stored
  return !stopped;
}

// Short runs, each coming down to zero; the best network that they found is left in the graph. False: the
// observer wanted a stop; they are made again another time.
bool Sweeper::find_radius(std::uint64_t number, double passes_left, RefineObserver& observer) {
  const std::vector<float> start = covered();
  std::vector<float> best = start;
  const double at_start = objective_of(loss_on(judge_));
  double lowest = at_start;
  const double seconds_at_start = observer.seconds_left();
  const double affordable = passes_left * static_cast<double>(pass_size()) / static_cast<double>(kBatch);
  const double batches = std::max(
      {kRaceShare * affordable, kMinRaceBatches, std::min(kRaceBatches, kLargerRaceShare * affordable)});
  const auto try_radius = [&](double eta, RunLength length) -> std::optional<ShortRun> {
    const double steps = length == RunLength::longer ? batches : batches / kRadiusStep;
    if (!short_run(number, eta, steps, start, observer)) return std::nullopt;
    const LossSums sums = loss_on(judge_);
    const bool last = observer.seconds_left() < (1 - kMaxRaceShare) * seconds_at_start;
    const ShortRun found{objective_of(sums), constant_answer_.is_beaten_by(sums), last};
    observer.on_race(eta, found.objective);
    if (found.alive && found.objective < lowest) {
      lowest = found.objective;
      best = covered();
    }
    return found;
  };
  const std::optional<double> winner = radius_that_gains(radius_for(affordable), at_start, try_radius);
  step_.forget();
  set_covered(winner ? best : start);
  if (!winner) return false;
  eta_ = *winner;
  return true;
}

std::vector<float> Sweeper::covered() const {
  std::vector<float> weights(static_cast<std::size_t>(context_.regulariser.size()));
  for (const Regulariser::Layer& layer : context_.regulariser.layers())
    std::copy_n(graph_.parameters().data() + layer.range.begin, layer.range.size,
                weights.data() + layer.packed);
  return weights;
}

void Sweeper::set_covered(std::span<const float> weights) {
  for (const Regulariser::Layer& layer : context_.regulariser.layers()) {
    float* target = graph_.parameters().data() + layer.range.begin;
    std::copy_n(weights.data() + layer.packed, layer.range.size, target);
    if (context_.options.as_stored)
      context_.options.as_stored(layer.node, {target, static_cast<std::size_t>(layer.range.size)});
  }
}

void Sweeper::step_back() {
  if (!run_) return;
  set_covered(run_->start);
  run_.reset();
}

double Sweeper::seconds() const {
  return run_ ? run_->seconds() : 0.0;
}

void Sweeper::save(Checkpoint& checkpoint) const {
  step_.save("sweep.step", checkpoint);
  checkpoint.put("sweep.eta", std::vector<double>{eta_, last_passes_, temperature_, has_grown_ ? 1.0 : 0.0});
  checkpoint.put("sweep.under_way", std::vector<std::uint64_t>{under_way()});
  if (!run_) return;
  checkpoint.put("sweep.counts", std::vector<std::uint64_t>{run_->number, run_->pass,
                                                            static_cast<std::uint64_t>(run_->position),
                                                            run_->steps, run_->planned_steps});
  checkpoint.put("sweep.sums",
                 std::vector<double>{run_->loss, run_->gamma, run_->seconds(), run_->planned_seconds});
  checkpoint.put_view("sweep.start", std::span<const float>(run_->start));
  checkpoint.put_view("sweep.average", std::span<const float>(run_->average));
}

void Sweeper::restore(const Checkpoint& checkpoint) {
  step_.restore("sweep.step", checkpoint);
  const auto etas = checkpoint.get<double>("sweep.eta", 4);
  eta_ = etas[0];
  last_passes_ = etas[1];
  temperature_ = etas[2];
  has_grown_ = etas[3] != 0;
  if (checkpoint.get<std::uint64_t>("sweep.under_way", 1)[0] == 0) return;
  const auto size = static_cast<std::size_t>(context_.regulariser.size());
  const auto counts = checkpoint.get<std::uint64_t>("sweep.counts", 5);
  const auto sums = checkpoint.get<double>("sweep.sums", 4);
  run_ = std::make_unique<Run>();
  run_->number = counts[0];
  run_->pass = counts[1];
  run_->position = static_cast<std::int64_t>(counts[2]);
  run_->steps = counts[3];
  run_->planned_steps = counts[4];
  run_->order = order_of_pass(*run_);
  run_->loss = sums[0];
  run_->gamma = sums[1];
  run_->earlier_seconds = sums[2];
  run_->planned_seconds = sums[3];
  run_->reserve = context_.reserve();
  run_->look_at_clock(context_.team);
  const auto start = checkpoint.get<float>("sweep.start", size);
  const auto average = checkpoint.get<float>("sweep.average", size);
  run_->start.assign(start.begin(), start.end());
  run_->average.assign(average.begin(), average.end());
}

}  // namespace lwsvm
