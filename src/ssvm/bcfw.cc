#include "ssvm/bcfw.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/stopwatch.h"

namespace lwsvm {
void BcfwOptions::validate() const {
  if (!(lambda > 0) || !std::isfinite(lambda))
    fail("ssvm", "lambda is {}: it must be a positive number", lambda);
  if (!(mu >= 0) || !std::isfinite(mu)) fail("ssvm", "mu is {}: it must be zero or a positive number", mu);
  schedule.validate();
}

// A random order of its own for each rank; that of a rank that is alone is the plain one.
BcfwSolver::BcfwSolver(BlockAscent& blocks, std::vector<float> anchor, const BcfwOptions& options,
                       const Threads& threads, std::vector<float> centre, Team& team)
    : blocks_(blocks),
      options_((options.validate(), options)),
      team_(team),
      blocks_of_all_(static_cast<double>(sum(team, blocks.blocks()))),
      state_(sum(team, blocks.samples()), std::move(anchor), options.lambda,
             std::max(options.mu, options.first_mu), threads, std::move(centre)),
      average_(options.average ? blocks.dimension() : 0, threads),
      schedule_(blocks.blocks(), options.schedule),
      random_(options.seed + (static_cast<std::uint64_t>(team.rank()) << 32)),
      psi_change_(static_cast<std::size_t>(blocks.dimension())),
      rounds_(team, blocks, options.rounds, options.schedule.batch_size, threads) {
  LWSVM_CHECK(team.is_alone() || !options.schedule.fixed_batches);
  LWSVM_CHECK(state_.dimension() == blocks.dimension());
}

Summary BcfwSolver::solve(const StoppingOptions& stopping, const Observer& observer) {
  stopping.validate();
  const Stopwatch watch;
  if (finished_) begin_phase();
  if (std::isnan(anchor_loss_)) anchor_loss_ = mean_loss(WeightVector(state_.anchor()).view());

  while (true) {
    if (!schedule_.in_epoch()) begin_epoch();
    while (has_batch()) {
      if (!(team_.is_alone() ? improve_next_batch() : improve_next_round())) {
        finished_ = 1;
        return summary(StopReason::overflow, watch.seconds());
      }
      if (observer && !observer(progress(false, watch.seconds())))
        return summary(StopReason::interrupted, watch.seconds());
    }
    finish_epoch();

    if (!at_final_mu() && epoch_ < static_cast<std::uint64_t>(stopping.max_epochs)) {
      approach_mu();
    } else {
      bool over = false;
      Summary outcome = check_stopping(stopping, over);
      outcome.seconds = watch.seconds();
      if (over) {
        finished_ = 1;
        return outcome;
      }
    }
    if (observer && !observer(progress(true, watch.seconds())))
      return summary(StopReason::interrupted, watch.seconds());
  }
}

void BcfwSolver::begin_phase() {
  epoch_ = visits_ = finished_ = 0;
  schedule_.end_epoch();
  schedule_.wake_all();
}

// One epoch's fall of mu; the average begins anew, being of iterates for another objective.
void BcfwSolver::approach_mu() {
  constexpr double fall = 3.1622776601683795;
  const double next = state_.mu() / fall;
  const bool near = next <= std::max(options_.mu, options_.lambda);
  state_.set_regularisation(options_.lambda, near ? options_.mu : next);
  average_.restart();
}

void BcfwSolver::begin_epoch() {
  const double samples_per_block = static_cast<double>(state_.samples()) / blocks_of_all_;
  schedule_.begin_epoch(random_, last_gap_ * samples_per_block);
  if (!team_.is_alone()) {
    round_ = 0;
    rounds_in_epoch_ = static_cast<std::uint64_t>(rounds_.rounds_of(schedule_.length()));
  }
  epoch_gap_ = 0;
  dual_at_epoch_start_ = state_.dual();
}

// Huge inputs can make a score, an inner product or the dual infinite. Every later batch would inherit that,
// so the solve ends there. A gap that is finite can still move psi too far: then the dual says so.
bool BcfwSolver::improve_next_batch() {
  const auto batch = schedule_.next_batch();
  gaps_.resize(batch.size());
  const BatchReport report = blocks_.improve(batch, state_, psi_change_, gaps_);
  if (!std::isfinite(report.gap)) return false;
  if (!follow(report.gap, report.offset_change)) return false;
  mean_step_ = report.mean_step;
  visits_ += report.visits;
  schedule_.finish_batch(gaps_);
  return true;
}

// Each rank visits its share of what it has to visit in this epoch, so that all come to its end together.
bool BcfwSolver::improve_next_round() {
  ++round_;
  const auto end = static_cast<std::uint64_t>(schedule_.length()) * round_ / rounds_in_epoch_;
  const RoundReport report = rounds_.improve(blocks_, schedule_, end, state_, psi_change_);
  if (!std::isfinite(report.gap)) return false;
  if (!follow(report.gap, report.offset_change)) return false;
  mean_step_ = report.mean_step;
  visits_ += report.visits;
  return true;
}

// The blocks have moved: so do w, the dual and the average. False: they are not finite any more.
bool BcfwSolver::follow(double gap, double offset_change) {
  state_.move(psi_change_, offset_change);
  if (!std::isfinite(state_.dual())) return false;
  if (options_.average) average_.add(psi_change_);
  epoch_gap_ += gap / static_cast<double>(state_.samples());
  return true;
}

void BcfwSolver::finish_epoch() {
  schedule_.end_epoch();
  last_gap_ = epoch_gap_;
  ++epoch_;
}

// Is the solve over? The gap that the epoch gathered is believed only after a look at all samples.
Summary BcfwSolver::check_stopping(const StoppingOptions& stopping, bool& over) {
  Summary outcome = summary(StopReason::max_epochs, 0);
  const auto gap_closed = [&] {
    return outcome.gap <= tolerated_gap(stopping, outcome.anchor_primal, outcome.primal, outcome.dual);
  };
  over = epoch_ >= static_cast<std::uint64_t>(stopping.max_epochs);
  if (dual_stalled(stopping, dual_at_epoch_start_, outcome.dual)) {
    outcome.reason = StopReason::dual_stalled;
    over = true;
  }
  if (!over && !gap_closed()) return outcome;

  certify(outcome);
  if (gap_closed()) {
    outcome.reason = StopReason::gap_closed;
    over = true;
  }
  if (!over) {  // resting blocks hid a gap
    schedule_.wake_all();
    last_gap_ = outcome.gap;
  }
  return outcome;
}

void BcfwSolver::certify(Summary& result) {
  result.mean_loss = mean_loss(state_.weights());
  result.primal = state_.regulariser() + result.mean_loss;
  result.gap = result.primal - result.dual;
  result.certified = true;
}

double BcfwSolver::fraction_done() const {
  if (team_.is_alone()) return schedule_.fraction_done();
  return rounds_in_epoch_ > 0 ? static_cast<double>(round_) / static_cast<double>(rounds_in_epoch_) : 1;
}

// What this epoch has gathered, and for the blocks still to come what the last epoch saw.
double BcfwSolver::gap_estimate() const {
  if (!schedule_.in_epoch()) return last_gap_;
  const double done = fraction_done();
  if (last_gap_ == 0) return done > 0 ? epoch_gap_ / done : 0;
  return epoch_gap_ + (1 - done) * last_gap_;
}

SolveProgress BcfwSolver::progress(bool epoch_end, double seconds) const {
  SolveProgress now;
  now.epoch = static_cast<int>(epoch_);
  now.epoch_fraction = schedule_.in_epoch() ? fraction_done() : 0;
  now.epoch_end = epoch_end;
  now.visits = visits_;
  now.dual = state_.dual();
  now.gap = gap_estimate();
  now.primal = now.dual + now.gap;
  now.mean_step = mean_step_;
  now.seconds = seconds;
  return now;
}

Summary BcfwSolver::summary(StopReason reason, double seconds) const {
  Summary result;
  result.reason = reason;
  result.epochs = static_cast<int>(epoch_);
  result.visits = visits_;
  result.dual = state_.dual();
  result.gap = gap_estimate();
  result.primal = result.dual + result.gap;
  result.anchor_primal = state_.anchor_regulariser() + anchor_loss_;
  result.seconds = seconds;
  return result;
}

std::vector<double> BcfwSolver::average_weights() const {
  if (!options_.average) return {};
  return state_.weights_of(average_.average(state_.psi()));
}

void BcfwSolver::set_regularisation(double lambda, double mu) {
  options_.lambda = lambda;
  options_.mu = mu;
  state_.set_regularisation(lambda, mu);
  average_.restart();
  finished_ = 1;
}

void BcfwSolver::visit(StateArchive& archive) {
  state_.visit(archive);
  if (options_.average) average_.visit(archive);
  schedule_.visit(archive);
  blocks_.visit(archive);
  std::vector<std::uint64_t> random(random_.state().begin(), random_.state().end());
  archive.made_array("solver.random", random);
  if (archive.loading()) {
    if (random.size() != 4) fail("checkpoint", "'solver.random' holds {} numbers, not 4", random.size());
    if (std::ranges::all_of(random, [](std::uint64_t word) { return word == 0; }))  // it would stay there
      fail("checkpoint", "the state of the random numbers is damaged: start without this checkpoint");
    random_ = Random(Random::State{random[0], random[1], random[2], random[3]});
  }
  archive.scalar("solver.lambda", options_.lambda);
  archive.scalar("solver.mu", options_.mu);
  archive.scalar("solver.epoch", epoch_);
  archive.scalar("solver.visits", visits_);
  archive.scalar("solver.finished", finished_);
  archive.scalar("solver.anchor_loss", anchor_loss_);
  archive.scalar("solver.epoch_gap", epoch_gap_);
  archive.scalar("solver.last_gap", last_gap_);
  archive.scalar("solver.dual_at_epoch_start", dual_at_epoch_start_);
  archive.scalar("solver.mean_step", mean_step_);
  if (team_.is_alone()) return;
  archive.scalar("solver.round", round_);
  archive.scalar("solver.rounds_in_epoch", rounds_in_epoch_);
}

}  // namespace lwsvm
