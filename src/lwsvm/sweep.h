// A sweep: one pass over the training part that moves all opened layers at once, by closed-form Frank-Wolfe
// steps (proximal_step.h), and is accepted like every other update only if F fell.
//
//   first time: a race of short runs for eta, the radius of the steps
//   for the batches of a random order:   step;  average the iterate
//   candidate: the last iterate or the average, whichever is better on a probe of the training part
//   F fell: keep it; eta follows from which of the two it was.   F rose: restore, eta / 3, no momentum
//
// The average (weights k/(k+2), 2/(k+2), as in [BZK17]) is what makes a constant eta good enough: it is where
// a falling eta would end. If the last iterate beats it, the steps are still going somewhere: eta may grow.
// If not, they go around in circles: eta shrinks. Batch norm stays frozen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/checkpoint.h"
#include "lwsvm/layer_updater.h"
#include "lwsvm/proximal_step.h"
#include "lwsvm/sample_subset.h"
#include "net/batch_runner.h"

namespace lwsvm {

class Sweeper {
 public:
  explicit Sweeper(const RefineGround& ground);
  ~Sweeper();

  // `current` is what the network is worth now; `number` counts moves and names the sweep's random numbers;
  // `sweeps_left`: about how many there is time for, this one included. nullopt: the observer wanted a stop,
  // and the sweep stays under way, to be saved.
  std::optional<MoveResult> sweep(std::uint64_t number, double sweeps_left, const NetworkQuality& current,
                                  RefineObserver& observer);

  bool under_way() const { return pass_ != nullptr; }
  void step_back();  // a sweep under way is given up: the weights that it began with are in the graph again
  double seconds() const;  // of the sweep under way
  double eta() const { return eta_; }

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  // The iterates of a sweep, and where it is.
  struct Pass;

  void begin(std::uint64_t number);
  void take_step(std::span<const std::int32_t> batch);
  bool race(std::uint64_t number, double sweeps_left, RefineObserver& observer);
  std::size_t race_samples(double seconds_left) const;
  double run_short(double eta, std::span<const std::int32_t> samples, std::span<const float> start);
  double probe_objective();  // of what is in the graph
  void choose_candidate();
  void adapt_eta(bool last_is_better, double sweeps_left);
  void set_covered(std::span<const float> weights);
  std::vector<float> covered() const;

  RefineGround ground_;
  Graph& graph_;
  BatchRunner runner_;
  SampleSubset probe_;
  ProximalStep step_;
  std::vector<float> delta_;
  double eta_ = 0, first_eta_ = 0;  // 0: not known yet
  std::unique_ptr<Pass> pass_;
};

}  // namespace lwsvm
