// LW-SVM: refines a network layer by layer, each layer a latent structured SVM [BZK17, Alg. 2].
//
//   repeat (a pass)
//     for every chosen layer, output to input:
//       linearise, solve, accept only if F fell        layer_updater.h
//   until validation accuracy fell, or F fell by less than 0.5% in the pass, or --passes
//
// The objective F is lower after every accepted update: checked, every time, by the evaluator that also
// reports it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/checkpoint.h"
#include "base/sample_source.h"
#include "engine/threads.h"
#include "lwsvm/frozen_prefix.h"
#include "lwsvm/layer_updater.h"
#include "lwsvm/refine_observer.h"
#include "lwsvm/refine_options.h"
#include "net/evaluator.h"
#include "net/graph.h"
#include "net/loss.h"
#include "net/regulariser.h"

namespace lwsvm {

enum class RefineEnd { passes_done, validation_fell, little_gained, stopped };
std::string_view to_string(RefineEnd end);

// R of a refinement with these options: over the opened layers around the centre; in paper mode over all,
// around zero.
Regulariser make_regulariser(const Graph& graph, const RefineOptions& options);

class Refiner {
 public:
  // `validation` may be null. The graph is changed in place and holds what is kept in the end.
  Refiner(Graph& graph, const SampleSource& train, const SampleSource* validation, const Loss& loss,
          const RefineOptions& options, const Threads& threads);

  RefineEnd run(RefineObserver& observer);
  // Puts the network that is to be kept into the graph: the best pass end, or, of a run that was stopped
  // within a pass, where it was if that is better still; or the last.
  void keep_chosen();

  const Regulariser& regulariser() const { return regulariser_; }
  const NetworkQuality& start() const { return start_; }
  const std::vector<int>& layers() const { return layers_; }
  int pass() const { return pass_; }
  int best_pass() const { return best_pass_; }
  int updates() const { return updates_; }
  int rejected() const { return rejected_; }
  int rises() const { return rises_; }  // always 0, but counted
  double seconds() const { return seconds_ + updater_->seconds(); }
  std::uint64_t dual_bytes() const { return dual_bytes_; }  // the most that an update's dual state took

  void save(Checkpoint& checkpoint) const;  // without the graph's structure
  void restore(Checkpoint checkpoint);

 private:
  void keep_frozen_prefix();
  NetworkQuality quality(const LossSums& training);  // of what is in the graph
  std::optional<LayerUpdate> update_layer(RefineObserver& observer);
  void count(const LayerUpdate& update);
  bool current_is_best() const;  // better than the best pass end so far
  std::optional<RefineEnd> finish_pass();
  void restore_centre(Checkpoint& checkpoint);

  Graph& graph_;
  const Loss& loss_;
  RefineOptions options_;
  Threads threads_;
  std::vector<int> layers_;  // output to input
  Regulariser regulariser_;
  int from_ = -1;  // the node that samples enter at: what comes before it is frozen
  std::unique_ptr<PrefixSource> train_prefix_, validation_prefix_;
  const SampleSource* train_;       // values of that node
  const SampleSource* validation_;  // null: none
  std::optional<Evaluator> evaluator_;
  std::optional<LayerUpdater> updater_;

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
  double seconds_ = 0;  // of finished updates
  std::uint64_t dual_bytes_ = 0;
};

}  // namespace lwsvm
