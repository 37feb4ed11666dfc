// What refining tells the one who asked for it: the library itself prints nothing.
#pragma once

#include <cstdint>
#include <string>

#include "ssvm/bcfw.h"

namespace lwsvm {

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

}  // namespace lwsvm
