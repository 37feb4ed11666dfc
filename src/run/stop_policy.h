// When a run ends before it is over: at Ctrl-C, where somebody listens for it (base/interrupt.h), and when
// its time is up.
#pragma once

#include "base/interrupt.h"
#include "base/stopwatch.h"
#include "run/recorder.h"

namespace lwsvm::run {

class StopPolicy final : public RunObserver {
 public:
  StopPolicy() = default;
  // `clock` runs since the command began. A limit of 0 is none.
  StopPolicy(const Stopwatch& clock, double time_limit) : clock_(&clock), time_limit_(time_limit) {}

  void reserve(double seconds) { reserved_ = seconds; }  // for what must be done after the last move
  void count_earlier(double seconds) { earlier_ = seconds; }

  // What there is is saved when the solver has come back: within a race for eta, for one, the network holds
  // weights that are only tried.
  bool stop_requested() override { return interrupted(); }

  double seconds_left() override {
    return time_limit_ > 0 ? time_limit_ - earlier_ - clock_->seconds() - reserved_
                           : std::numeric_limits<double>::infinity();
  }

 private:
  const Stopwatch* clock_ = nullptr;
  double time_limit_ = 0, reserved_ = 0;
  double earlier_ = 0;  // seconds of other starts that count
};

}  // namespace lwsvm::run
