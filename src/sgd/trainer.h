// Trains a network by a gradient solver: the baseline that LW-SVM starts from and is measured against.
//
//   minimise F = lambda/2 sum_l ||w_l||^2 + 1/N sum_i loss_i
//
// over shuffled batches, the last partial one included. With the solver dfw, Deep Frank-Wolfe [BZK19], there
// is no learning rate: a race of short runs finds the radius of its steps (radius_race.h), which comes down
// to zero with the epochs or the time, and so does the temperature that the hinge is smoothed with
// (net/loss.h), from the loss of a constant answer: at first all labels count, in the end only the hinge. An
// epoch after which F is higher, or the network dead, is taken back and the radius divided by three. Dead is
// a network that no sample gets through any more: no better than a constant answer, and its first layer
// without a slope.
//
// All randomness is named by (seed, epoch, batch), so a run that is stopped anywhere and restored goes on to
// the same bits. The trainer prints nothing: it tells an observer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/checkpoint.h"
#include "base/sample_source.h"
#include "engine/threads.h"
#include "net/batch_runner.h"
#include "net/evaluator.h"
#include "net/graph.h"
#include "net/loss.h"
#include "net/regulariser.h"
#include "sgd/proximal_step.h"
#include "sgd/radius_race.h"
#include "sgd/solver.h"

namespace lwsvm {

inline constexpr const char* kFrankWolfe = "dfw";  // the solver without a learning rate

struct TrainOptions {
  std::string solver = "adam";
  double learning_rate = 0;  // 0: the solver's own; dfw has none
  double lambda = 0.001;
  std::string schedule = "constant";  // of the learning rate; cosine: falls to 0 at the end
  int epochs = 10;
  double time_limit = 0;  // seconds of training, evaluations left out; 0: none
  int batch = 200;
  int eval_every = 1;  // epochs between evaluations; the last is always evaluated
  std::uint64_t seed = 0;

  void validate() const;  // throws Error
};

struct EpochResult {
  int epoch = 0;            // counted from 1
  bool evaluated = false;   // whether what follows was computed
  bool taken_back = false;  // dfw: F would have risen
  double objective = 0, train_loss = 0, train_accuracy = 0;
  double val_accuracy = -1;  // -1: no validation part
  double samples_per_second = 0;
  double seconds = 0;  // spent training since the very start, evaluations left out
};

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_race(double /*radius*/, double /*objective*/) {}  // dfw: a short run
  virtual void on_batch(int /*epoch*/, std::int64_t /*samples_done*/, double /*running_loss*/) {}
  virtual void on_epoch(const EpochResult& /*result*/) {}
  virtual void on_safe_point(bool /*epoch_ended*/) {}  // the state may be saved here
  virtual bool stop_requested() { return false; }
};

enum class TrainOutcome { finished, stopped, diverged };

class Trainer {
 public:
  Trainer(Graph& graph, const SampleSource& train, const SampleSource* validation, const Loss& loss,
          const TrainOptions& options, const Threads& threads);

  TrainOutcome run(TrainObserver& observer);

  int epoch() const { return epoch_; }  // finished epochs
  bool within_epoch() const { return position_ > 0; }
  double seconds() const { return seconds_; }
  const EpochResult& last() const { return last_; }
  double rate() const { return rate_; }  // the learning rate, or the radius of dfw's steps; 0: not known yet

  // Everything but the network itself.
  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  // What an epoch began with, to go back to.
  struct EpochStart {
    std::vector<float> parameters, statistics;
    double objective = 0;
    bool alive = false;
  };

  TrainOutcome run_epoch(TrainObserver& observer);
  bool find_radius(TrainObserver& observer);
  // `left`: of what comes down with progress.
  LossSums take_step(std::span<const std::int32_t> batch, std::uint64_t draw, double left);
  void add_regulariser();
  void begin_epoch();
  bool epoch_is_good(const LossSums& training, double objective) const;
  bool is_dead(const LossSums& sums) const;
  void take_back();
  bool is_frank_wolfe() const { return frank_wolfe_.has_value(); }
  bool out_of_time() const;
  double progress() const;  // 0 at the start, 1 at the end: by epochs or by time, whichever ends first
  EpochResult evaluate(double samples_per_second, bool wanted);

  Graph& graph_;
  const SampleSource& train_;
  const SampleSource* validation_;
  const Loss& loss_;
  TrainOptions options_;
  const Threads& threads_;
  BatchRunner runner_;
  Evaluator evaluator_;
  std::unique_ptr<Solver> solver_;  // null: Frank-Wolfe steps
  Regulariser regulariser_;
  std::optional<ProximalStep> frank_wolfe_;
  ConstantAnswer constant_answer_;
  Loss smoothed_loss_;  // of Frank-Wolfe steps
  EpochStart epoch_start_;
  std::vector<std::uint8_t> regularised_;
  std::vector<float> gradient_;

  double rate_ = 0;
  int epoch_ = 0;
  std::int64_t position_ = 0;  // samples of the current epoch already used
  double seconds_ = 0;
  EpochResult last_;
};

}  // namespace lwsvm
