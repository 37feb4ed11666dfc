// LW-SVM: refines a network layer by layer, each layer a latent structured SVM [BZK17, Alg. 2].
//
//   repeat (a pass)
//     for every chosen layer, output to input:
//       linearise the network at w_t                  src/dc: CCCP's convex surrogate
//       solve the layer problem in its dual           src/ssvm: block-coordinate Frank-Wolfe, no step size
//       accept the candidate only if F fell           trust_region.h; adapt mu
//   until validation accuracy fell, or F fell by less than 0.5% in the pass, or --passes
//
// The objective F is lower after every accepted update: checked, every time, by the evaluator that also
// reports it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/checkpoint.h"
#include "base/sample_source.h"
#include "engine/threads.h"
#include "lwsvm/frozen_prefix.h"
#include "lwsvm/layer_problem.h"
#include "lwsvm/trust_region.h"
#include "net/evaluator.h"
#include "net/graph.h"
#include "net/loss.h"
#include "ssvm/bcfw.h"

namespace lwsvm {

enum class Search { labels, automatic, full };
enum class Keep { best, last };
enum class RefineMode { standard, paper };

struct RefineOptions {
  std::vector<int> layers;  // nodes to open; empty: all that can be
  double lambda = 1e-3;
  std::optional<double> mu;  // fixes it; otherwise adapted (trust_region.h)
  int passes = 10;
  int patience =
      1;  // passes in a row that may end below the best validation accuracy, the last one ending it
  double gap = 0.4;     // an inner solve ends at gap <= this * (P(w_t) - D)
  int max_epochs = 50;  // of one inner solve
  int batch = 200;
  Search search = Search::automatic;
  Keep keep = Keep::best;
  RefineMode mode = RefineMode::standard;
  std::uint64_t memory = std::uint64_t{4} << 30;
  std::uint64_t seed = 0;
  // Rounds a node's weights to what the file they go to can hold (float16, ...), before they are judged; true
  // if that changed one. Empty: float32, which changes nothing.
  std::function<bool(int node, std::span<float> weights)> as_stored;

  void validate() const;  // throws Error
};

struct NetworkQuality {
  double objective = 0, train_loss = 0, train_accuracy = 0;
  double val_accuracy = -1;  // -1: no validation part
};

struct LayerUpdate {
  int pass = 0;
  std::string layer, form, reason;
  bool accepted = false;
  double mu = 0, next_mu = 0;
  int epochs = 0, attempts = 0;
  double primal = 0, dual = 0, gap = 0;
  double before = 0, after = 0;      // objective; after = before when rejected
  double predicted = 0, actual = 0;  // of the last trial
  double train_accuracy = 0, val_accuracy = -1;
  std::uint64_t dual_bytes = 0, cache_bytes = 0;
  double seconds = 0;  // of this update
};

class RefineObserver {
 public:
  virtual ~RefineObserver() = default;
  virtual void on_open(int /*pass*/, const std::string& /*layer*/) {}
  virtual void on_progress(const SolveProgress& /*progress*/) {}
  virtual void on_update(const LayerUpdate& /*update*/) {}
  virtual void on_pass(int /*pass*/, const NetworkQuality& /*quality*/) {}
  virtual void on_safe_point() {}  // the state may be saved here
  virtual bool stop_requested() { return false; }
};

enum class RefineEnd { passes_done, validation_fell, little_gained, stopped };
std::string_view to_string(RefineEnd end);

class Refiner {
 public:
  // `validation` may be null. The graph is changed in place and holds what is kept in the end.
  Refiner(Graph& graph, const SampleSource& train, const SampleSource* validation, const Loss& loss,
          const RefineOptions& options, const Threads& threads);
  ~Refiner();

  RefineEnd run(RefineObserver& observer);
  // Puts the network that is to be kept into the graph: the best pass end, or, of a run that was stopped
  // within a pass, where it was if that is better still; or the last.
  void keep_chosen();

  const NetworkQuality& start() const { return start_; }
  const std::vector<int>& layers() const { return layers_; }
  int pass() const { return pass_; }
  int best_pass() const { return best_pass_; }
  int updates() const { return updates_; }
  int rejected() const { return rejected_; }
  int rises() const { return rises_; }  // always 0, but counted
  double seconds() const { return seconds_; }
  std::uint64_t dual_bytes() const { return dual_bytes_; }  // the most that an update's dual state took

  void save(Checkpoint& checkpoint);  // without the graph's structure
  void restore(Checkpoint checkpoint);

 private:
  struct ActiveSolve;

  // Weights for the open layer that are in the graph, and what they are worth.
  struct Candidate {
    LossSums training;
    Trial trial;
  };

  void keep_frozen_prefix();
  NetworkQuality quality(const LossSums& training);  // of what is in the graph
  std::optional<LayerUpdate> update_layer(int node, RefineObserver& observer);
  bool current_is_best() const;  // better than the best pass end so far
  std::optional<RefineEnd> finish_pass();
  std::unique_ptr<LayerProblem> linearise(int node, int level) const;
  void open(int node, int level, double mu, std::unique_ptr<LayerProblem> problem);
  void open_restored(int node);
  bool widen(const Summary& summary);
  void describe_solve(const Summary& summary, LayerUpdate& update);
  Candidate best_candidate(const Summary& summary);
  bool settle(const Candidate& candidate, const Summary& summary, std::span<const float> anchor,
              LayerUpdate& update);
  int first_level(int node) const;
  LayerProblemOptions problem_options(int level) const;
  StoppingOptions stopping_options(double gap) const;
  double gap_fraction(const ActiveSolve& active) const;
  bool set_weights(int node, std::span<const double> w);
  std::vector<float> weights(int node) const;
  double initial_mu(int node) const;

  Graph& graph_;
  const Loss& loss_;
  RefineOptions options_;
  Threads threads_;
  std::vector<int> layers_;  // output to input
  int from_ = -1;            // the node that samples enter at: what comes before it is frozen
  std::unique_ptr<PrefixSource> train_prefix_, validation_prefix_;
  const SampleSource* train_;       // values of that node
  const SampleSource* validation_;  // null: none
  std::optional<Evaluator> evaluator_;

  bool started_ = false;
  std::optional<RefineEnd> end_;  // once it is over; a finished run that is resumed stays finished
  NetworkQuality start_, current_;
  int pass_ = 0;  // finished passes
  std::size_t layer_index_ = 0;
  double pass_start_objective_ = 0;
  std::vector<double> mu_;  // per layer
  std::vector<float> best_parameters_;
  NetworkQuality best_;
  int best_pass_ = 0;
  int passes_below_best_ = 0;  // in a row, by validation accuracy
  int updates_ = 0, rejected_ = 0, rises_ = 0;
  double seconds_ = 0;
  std::uint64_t dual_bytes_ = 0;

  std::unique_ptr<ActiveSolve> active_;        // while a layer is open
  std::unique_ptr<Checkpoint> pending_solve_;  // restored, until its layer is open again
};

}  // namespace lwsvm
