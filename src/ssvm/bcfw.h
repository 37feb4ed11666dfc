// Block-coordinate Frank-Wolfe for the layer problem [BZK17, Alg. 1], [LJJSP13].
//
//   repeat
//     for the batches of an epoch:   improve its blocks;  Psi, w and the dual follow;  average the iterate
//   until the stopping rule holds
//
// With an anchor the dual begins at w = mu/(lambda+mu) anchor (as far between centre and anchor, where the
// regulariser has a centre), far from the anchor if mu is small: hundreds of samples then violate margins
// that they satisfy at both ends, and their blocks must be moved there and back. So mu may begin high and
// fall by sqrt(10) with every epoch (BcfwOptions::first_mu); every block stays feasible for every mu, and the
// stopping rule is asked only at the mu that was wanted. Beyond [BZK17].
//
// The solver keeps everything that a continuation needs: an interrupted solve() goes on where it was, also in
// another process after visit(), to the same bits. After a stop of any other kind the next solve() counts its
// epochs anew but keeps the dual: so one tightens the rule, or changes mu (which leaves every block
// feasible), and goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/random.h"
#include "ssvm/averaging.h"
#include "ssvm/block_ascent.h"
#include "ssvm/dual_state.h"
#include "ssvm/rounds.h"
#include "ssvm/schedule.h"
#include "ssvm/stopping.h"

namespace lwsvm {

struct BcfwOptions {
  double lambda = 1e-3;
  double mu = 0;
  double first_mu = 0;  // of the first epoch, where larger than mu
  ScheduleOptions schedule;
  bool average = true;
  std::uint64_t seed = 0;
  RoundOptions rounds;  // where there are several ranks

  void validate() const;
};

// Where a solve is; told after every batch, and after every epoch that did not end it.
struct SolveProgress {
  int epoch = 0;              // finished epochs
  double epoch_fraction = 0;  // of the current one
  bool epoch_end = false;
  std::uint64_t visits = 0;              // of blocks, this solve
  double primal = 0, dual = 0, gap = 0;  // primal and gap are estimates from block gaps
  double mean_step = 0;                  // of the last batch
  double seconds = 0;                    // since solve() was called
};

// Returns false to interrupt. May call visit() of the solver: between batches its state is whole.
using Observer = std::function<bool(const SolveProgress&)>;

struct Summary {
  StopReason reason = StopReason::interrupted;
  int epochs = 0;
  std::uint64_t visits = 0;
  double primal = 0, dual = 0, gap = 0;
  bool certified = false;  // primal and gap come from all samples at the final w, not from an estimate
  double mean_loss = std::numeric_limits<double>::quiet_NaN();  // 1/N sum H_i at the final w, when certified
  double anchor_primal = 0;                                     // P(anchor)
  double seconds = 0;
};

class BcfwSolver {
 public:
  // The blocks are looked at and must outlive the solver. The anchor is w_t; zeros for a plain SVM. An empty
  // centre of the regulariser is zero. Where a team works on the problem, the blocks are this rank's own, and
  // all else is the same on all ranks, which call the same methods (rounds.h).
  BcfwSolver(BlockAscent& blocks, std::vector<float> anchor, const BcfwOptions& options,
             const Threads& threads, std::vector<float> centre = {}, Team& team = alone());

  Summary solve(const StoppingOptions& stopping, const Observer& observer = {});

  const DualState& state() const { return state_; }
  Weights weights() const { return state_.weights(); }
  // The weighted average of the iterates, empty with average = false.
  std::vector<double> average_weights() const;
  double mean_loss(const Weights& w) { return mean_loss_of_all(team_, blocks_, w); }
  double primal_at(const Weights& w) { return state_.regulariser_at(w.exact) + mean_loss(w); }

  // Keeps the dual; the average begins anew, being of iterates for another objective.
  void set_regularisation(double lambda, double mu);
  // 1/N sum_i H_i(anchor) where the caller knows it; otherwise the first solve() evaluates it.
  void set_anchor_loss(double mean_loss) { anchor_loss_ = mean_loss; }

  void visit(StateArchive& archive);

 private:
  void begin_phase();
  bool at_final_mu() const { return state_.mu() == options_.mu; }
  void approach_mu();
  void begin_epoch();
  bool has_batch() const { return team_.is_alone() ? schedule_.has_batch() : round_ < rounds_in_epoch_; }
  double fraction_done() const;
  bool improve_next_batch();  // false: the numbers have overflowed
  bool improve_next_round();  // the same of all ranks together
  bool follow(double gap, double offset_change);
  void finish_epoch();
  double gap_estimate() const;
  SolveProgress progress(bool epoch_end, double seconds) const;
  Summary summary(StopReason reason, double seconds) const;
  Summary check_stopping(const StoppingOptions& stopping, bool& over);
  void certify(Summary& summary);

  BlockAscent& blocks_;
  BcfwOptions options_;
  Team& team_;
  double blocks_of_all_;
  DualState state_;
  IterateAverage average_;
  Schedule schedule_;
  Random random_;
  std::vector<float> psi_change_;
  std::vector<double> gaps_;

  double anchor_loss_ = std::numeric_limits<double>::quiet_NaN();
  Rounds rounds_;
  std::uint64_t round_ = 0, rounds_in_epoch_ = 0;        // where there are several ranks
  std::uint64_t epoch_ = 0, visits_ = 0, finished_ = 0;  // of this phase
  double epoch_gap_ = 0;                                 // 1/N sum of the gaps gathered in this epoch
  double last_gap_ = 0;                                  // the same of the last whole epoch
  double dual_at_epoch_start_ = 0, mean_step_ = 0;
};

}  // namespace lwsvm
