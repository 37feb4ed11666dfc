// LW-SVM: refines a network, each layer a latent structured SVM [BZK17, Alg. 2], all of them together in
// between.
//
//   repeat (a move, moves.h)
//     update one layer:  linearise, solve, accept only if F fell        layer_updater.h
//     or sweep:          all layers at once, accept only if F fell      sweep.h
//   until validation or F gets no better, or --passes, or time is up
//   then the line from the start to the best network is searched on validation data
//
// With Moves::layers every layer in turn, output to input: a pass, as in the paper. The objective F is lower
// after every accepted move: checked, every time, by the evaluator that also reports it. After every move the
// network is looked at on the validation part, and the best one seen is kept (best_network.h).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checkpoint.h"
#include "base/sample_source.h"
#include "base/sample_subset.h"
#include "engine/threads.h"
#include "lwsvm/best_network.h"
#include "lwsvm/frozen_prefix.h"
#include "lwsvm/layer_updater.h"
#include "lwsvm/moves.h"
#include "lwsvm/refine_observer.h"
#include "lwsvm/refine_options.h"
#include "lwsvm/sweep.h"
#include "net/evaluator.h"
#include "net/graph.h"
#include "net/loss.h"
#include "net/regulariser.h"

namespace lwsvm {

enum class RefineEnd { passes_done, validation_fell, little_gained, stopped, out_of_time };
std::string_view to_string(RefineEnd end);

// R of a refinement with these options: over the opened layers around the centre; in paper mode over all,
// around zero.
Regulariser make_regulariser(const Graph& graph, const RefineOptions& options);

class Refiner {
 public:
  // `validation` may be null. The graph is changed in place and holds what is kept in the end. Where a team
  // refines, `train` and `validation` are this rank's parts, and all else is the same on all ranks.
  Refiner(Graph& graph, const SampleSource& train, const SampleSource* validation, const Loss& loss,
          const RefineOptions& options, const Threads& threads, Team& team = alone());

  // What the network is worth before anything, and how long it took to see that, where the caller knows;
  // before run().
  void set_start(const NetworkQuality& start, double evaluation_seconds);
  RefineEnd run(RefineObserver& own);
  // Puts the network that is to be kept into the graph: the best one seen after any move, or a better one on
  // the line to it from the start; or, with Keep::last, the last.
  void keep_chosen(double seconds_left = std::numeric_limits<double>::infinity());

  const Regulariser& regulariser() const { return regulariser_; }
  const NetworkQuality& start() const { return start_; }
  const NetworkQuality& current() const {
    return current_;
  }  // of what is in the graph, unless stopped in a move
  const std::vector<int>& layers() const { return layers_; }
  int pass() const { return pass_; }
  int best_move() const { return best_.move(); }     // 0: the start
  double kept_share() const { return kept_share_; }  // of the way from the start to the best network
  int updates() const { return updates_; }
  int rejected() const { return rejected_; }
  int rises() const { return rises_; }  // always 0, but counted
  double seconds() const { return seconds_ + updater().seconds() + (sweeper_ ? sweeper_->seconds() : 0); }
  double radius() const { return sweeper_ ? sweeper_->eta() : 0; }  // of the next sweep; 0: not known
  std::uint64_t dual_bytes() const { return dual_bytes_; }  // the most that an update's dual state took

  void save(Checkpoint& checkpoint) const;  // without the graph's structure
  void restore(Checkpoint checkpoint);
  // Of several ranks each has something to save that the others do not know: the blocks of an open layer.
  // With the first one's checkpoint every rank restores its own part, or none, if there were other ranks:
  // then the layer's update begins anew.
  void save_own(Checkpoint& checkpoint) const;
  void restore_with(Checkpoint checkpoint, std::optional<Checkpoint> own);

 private:
  void keep_frozen_prefix();
  void keep_features();
  // The one for the move under way, or that was the last.
  const LayerUpdater& updater() const {
    return feature_updater_ && move_ == kLastLayer ? *feature_updater_ : *updater_;
  }
  LayerUpdater& updater() { return const_cast<LayerUpdater&>(std::as_const(*this).updater()); }
  NetworkQuality quality(const LossSums& training);  // of what is in the graph
  void begin();
  void set_evaluation_seconds(double seconds);
  bool passes_done() const;
  std::size_t next_move() const;
  std::optional<MoveResult> make_move(RefineObserver& observer);
  double passes_left(RefineObserver& observer) const;
  std::optional<MoveResult> update_layer(RefineObserver& observer);
  void take_stock(MoveResult& result);
  std::optional<RefineEnd> reason_to_end();
  std::optional<RefineEnd> finish_pass();
  void restore_centre(Checkpoint& checkpoint);
  bool restore_common(Checkpoint& checkpoint);
  void search_line(double seconds_left);
  bool time_for_a_move(std::size_t move, RefineObserver& observer) const;
  static constexpr std::size_t kLastLayer = 1;  // as MoveChooser numbers it: the first of layers_

  const SampleSource& judged() const { return judged_ ? *judged_ : *train_; }
  bool in_turn() const { return options_.moves == Moves::layers || options_.mode == RefineMode::paper; }

  Graph& graph_;
  Team& team_;
  const Loss& loss_;
  RefineOptions options_;
  Threads threads_;
  std::vector<int> layers_;  // output to input
  Regulariser regulariser_;
  int from_ = -1;  // the node that samples enter at: what comes before it is frozen
  std::unique_ptr<SampleSource> train_prefix_, validation_prefix_;
  const SampleSource* train_;            // values of that node
  std::int64_t validation_samples_ = 0;  // of all ranks, as the next
  std::int64_t train_samples_ = 0, judged_samples_ = 0;
  const SampleSource* validation_;  // null: none
  BestNetwork best_;
  std::optional<SampleSubset> judged_;  // what F is taken over, if not all of train_
  std::optional<Evaluator> evaluator_;
  std::unique_ptr<Features> features_;                     // null: none are kept
  std::optional<LayerUpdater> updater_, feature_updater_;  // the second: of the last layer, from its features
  std::optional<Sweeper> sweeper_;
  MoveChooser chooser_;
  double evaluation_seconds_ = 0, feature_evaluation_seconds_ = 0;
  double pass_seconds_ = 0;  // of one pass of a sweep, as last seen

  bool started_ = false;
  std::optional<RefineEnd> end_;  // once it is over; a finished run that is resumed stays finished
  bool start_is_known_ = false;
  NetworkQuality start_, current_;
  int pass_ = 0;  // finished passes and sweeps
  int moves_ = 0;
  std::size_t move_ = 0;         // the one under way, as MoveChooser numbers them
  std::size_t layer_index_ = 0;  // whose turn it is, when the layers take turns
  double pass_start_objective_ = 0;
  std::vector<double> mu_;  // per layer
  double kept_share_ = 1;
  int since_best_ = 0;              // moves, or passes, since there was a better network
  std::vector<double> objectives_;  // after each of the last moves
  int updates_ = 0, rejected_ = 0, rises_ = 0;
  double seconds_ = 0;  // of finished updates
  std::uint64_t dual_bytes_ = 0;
};

}  // namespace lwsvm
