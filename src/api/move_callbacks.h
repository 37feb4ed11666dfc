// Tells a caller's functions of what a refinement or an adaptation does; either may ask it to stop.
#pragma once

#include <functional>
#include <string>

#include "lwsvm/refine.h"
#include "run/refinement_run.h"

namespace lwsvm {

class MoveCallbacks final : public run::RunObserver {
 public:
  using OnProgress = std::function<bool(const RefineProgress&)>;
  using OnUpdate = std::function<bool(const RefineUpdate&)>;

  // The functions must outlive this; an empty one is never called.
  MoveCallbacks(const OnProgress& on_progress, const OnUpdate& on_update)
      : on_progress_(on_progress), on_update_(on_update) {}

  void on_open(int pass, const std::string& layer) override {
    now_ = {};
    now_.pass = pass;
    now_.layer = layer;
    tell();
  }
  void on_solve(const SolveProgress& progress, double /*seconds*/) override {
    now_.epoch = progress.epoch;
    now_.primal = progress.primal;
    now_.dual = progress.dual;
    now_.gap = progress.gap;
    tell();
  }
  void on_sweep(const SweepProgress& progress) override {
    now_.fraction = progress.fraction;
    tell();
  }
  void on_update(const LayerUpdate& update, double /*seconds*/) override {
    if (on_update_ && !on_update_(run::to_public(update))) stop_ = true;
  }
  bool stop_requested() override { return stop_; }

 private:
  void tell() {
    if (on_progress_ && !on_progress_(now_)) stop_ = true;
  }

  const OnProgress& on_progress_;
  const OnUpdate& on_update_;
  RefineProgress now_;
  bool stop_ = false;
};

}  // namespace lwsvm
