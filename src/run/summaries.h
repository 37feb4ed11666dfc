// What runs come to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "run/quality.h"

namespace lwsvm {

struct TrainSummary {
  Quality end;
  int epochs = 0;
  double seconds = 0;    // of training, evaluations left out
  bool finished = true;  // false: stopped, and may be resumed
  std::string model;     // the file that was written
};

struct RefineSummary {
  Quality start, end;
  int updates = 0, rejected = 0;
  int rises = 0;  // of the objective; always 0, but counted
  int passes = 0;
  double seconds = 0;
  std::uint64_t dual_bytes = 0;  // the most that an update's dual state took
  bool finished = true;          // false: stopped, and may be resumed
  std::string reason;            // why it ended
  double lambda = 0;
  std::string centre;                          // of the regulariser: zero or start
  std::optional<std::int64_t> judged_samples;  // that the objective was taken over; absent: all
  std::string time_limit;                      // if the time was up: what it was
  std::string model;                           // the file that was written
};

}  // namespace lwsvm
