// What refining tells the one who asked for it: the library itself prints nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "net/loss.h"
#include "ssvm/bcfw.h"

namespace lwsvm {

struct NetworkQuality {
  double objective = 0, train_loss = 0, train_accuracy = 0;
  double val_accuracy = -1;  // -1: no validation part
  double val_loss = 0;
};

// A move: the update of one layer, or a sweep, whose `layer` and `form` are "sweep".
struct LayerUpdate {
  int pass = 0;
  std::string layer, form, reason;
  bool accepted = false;
  double mu = 0, next_mu = 0;
  double eta = 0, gamma = 0;  // of a sweep: the radius of its steps, their mean Frank-Wolfe step
  int epochs = 0, attempts = 0;
  double primal = 0, dual = 0, gap = 0;
  double before = 0, after = 0;      // objective; after = before when rejected
  double predicted = 0, actual = 0;  // of the last trial
  double train_accuracy = 0, val_accuracy = -1, val_loss = 0;
  std::uint64_t dual_bytes = 0, cache_bytes = 0;
  double seconds = 0;  // of this update
  double work = 0;     // in floating-point operations, roughly
};

// What a move came to.
struct MoveResult {
  LayerUpdate update;
  std::optional<LossSums> training;  // with the accepted weights, which are in the graph
};

struct SweepProgress {
  double fraction = 0;
  double loss = 0, gamma = 0;  // means over the steps so far
  double eta = 0;
};

class RefineObserver {
 public:
  virtual ~RefineObserver() = default;
  virtual void on_open(int /*pass*/, const std::string& /*layer*/) {}
  virtual void on_progress(const SolveProgress& /*progress*/) {}
  virtual void on_race(double /*eta*/, double /*objective*/) {}  // a short run to find the sweeps' eta
  virtual void on_sweep_progress(const SweepProgress& /*progress*/) {}
  virtual void on_update(const LayerUpdate& /*update*/) {}
  virtual void on_pass(int /*pass*/, const NetworkQuality& /*quality*/) {}
  virtual void on_safe_point() {}                  // the state may be saved here
  virtual bool wants_to_save() { return false; }   // there: asked of the first of several ranks
  virtual bool stop_requested() { return false; }  // leave all as it is, to be resumed
  // When little is left, what is under way is judged and the run ends.
  virtual double seconds_left() { return std::numeric_limits<double>::infinity(); }
};

}  // namespace lwsvm
