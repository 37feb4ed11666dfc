// One update of one layer [BZK17, Alg. 2, the body of its loop]:
//
//   linearise the network at w_t                  src/dc: CCCP's convex surrogate
//   solve the layer problem in its dual           src/ssvm: block-coordinate Frank-Wolfe, no step size
//   accept the candidate only if F fell           trust_region.h; else less trust, and again
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/checkpoint.h"
#include "base/sample_source.h"
#include "base/team.h"
#include "engine/threads.h"
#include "lwsvm/features.h"
#include "lwsvm/layer_problem.h"
#include "lwsvm/refine_observer.h"
#include "lwsvm/refine_options.h"
#include "lwsvm/trust_region.h"
#include "net/evaluator.h"
#include "net/graph.h"
#include "net/loss.h"

namespace lwsvm {

// What all updates of a run work on.
struct RefineContext {
  Graph& graph;
  const SampleSource& train;       // values of the node `from`, or of the network's input
  const SampleSource& judged;      // what F is taken over: all of `train`, or some
  const SampleSource* validation;  // null: none
  int from = -1;
  const Loss& loss;
  const RefineOptions& options;
  const Regulariser& regulariser;
  const Threads& threads;
  Evaluator& evaluator;
  Features* features;                // of all of `train`; null: none are kept
  const double& evaluation_seconds;  // what one evaluation of F and of the validation part took
  // Each rank has its part of the samples; all make the same moves.
  Team& team = alone();
  std::int64_t train_samples = 0, judged_samples = 0, validation_samples = 0;  // of all ranks
  std::int64_t largest_part = 0;                                               // of `train`, of a rank

  // Time that a move must leave for its own judgement.
  double reserve() const { return 1.25 * evaluation_seconds; }
  double flops_per_sample() const { return flops_between(from + 1, static_cast<int>(graph.nodes().size())); }
  double flops_between(int first, int end) const;  // of the nodes first..end-1, forward
  // Of a layer's update that visits so many blocks: to the layer and through it once for all samples; for
  // each visit the layer forward and its slope, its tail forward and back; and two evaluations of F.
  double update_flops(int node, double visits) const;
};

class LayerUpdater {
 public:
  explicit LayerUpdater(const RefineContext& context);
  ~LayerUpdater();

  // Where the trust region of a layer starts.
  double initial_mu(int node) const;

  // `current` is what the network is worth now; nullopt: the observer wanted a stop, and the layer stays
  // open, to be saved.
  std::optional<MoveResult> update(int node, double mu, std::uint64_t seed, const NetworkQuality& current,
                                   RefineObserver& observer);

  bool is_open() const { return active_ != nullptr; }
  bool will_resume() const { return pending_ != nullptr; }  // an update that was restored
  double seconds() const;                                   // of the update under way

  void save(Checkpoint& checkpoint) const;  // of an open layer
  void restore(Checkpoint checkpoint);      // the next update goes on with it

 private:
  struct ActiveSolve;

  // Weights for the open layer that are in the graph, and what they are worth.
  struct Candidate {
    LossSums training;
    Trial trial;
  };

  std::unique_ptr<LayerProblem> linearise(int node, int level) const;
  void open(int node, int level, double mu, std::uint64_t seed, std::unique_ptr<LayerProblem> problem);
  void share_out(int node, LayerProblem& problem, BcfwOptions& options) const;
  void space_out(int node, BcfwOptions& options) const;
  void open_restored(int node, std::uint64_t seed);
  bool widen(const Summary& summary);
  void describe_solve(const Summary& summary, LayerUpdate& update) const;
  Candidate best_candidate(const Summary& summary, bool in_haste);
  void reject_overflow(LayerUpdate& update);
  bool conclude(const Candidate& candidate, const Summary& summary, MoveResult& result);
  int first_level(int node) const;
  LayerProblemOptions problem_options(int level) const;
  StoppingOptions stopping_options() const;
  std::vector<float> weights(int node) const;
  void set_weights(int node, std::span<const float> w);
  bool set_rounded(int node, std::span<const double> w);
  bool is_paper() const { return options_.mode == RefineMode::paper; }

  RefineContext context_;
  Graph& graph_;
  const RefineOptions& options_;
  NetworkQuality current_;
  std::unique_ptr<ActiveSolve> active_;
  std::unique_ptr<Checkpoint> pending_;  // restored, until its layer is open again
};

}  // namespace lwsvm
