// Which blocks an epoch visits, and in which batches.
//
// By default every epoch is a new random order of the blocks, cut into batches. With fixed batches a batch is
// always the same run of consecutive blocks and only the order of the batches is random ([BZK17], where a
// batch is a block).
//
// Rest. A block whose gap was (nearly) nothing has nothing to give: it rests for 1, 2, 4, ... epochs, longer
// each time it is found so. Most samples of a trained network satisfy their margin and rest most of the time.
// Nothing is lost: the stopping rule is confirmed on all samples, and when that fails every block is woken.
// Departs from [BZK17].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "ssvm/state_archive.h"

namespace lwsvm {

struct ScheduleOptions {
  int batch_size = 200;        // blocks
  bool fixed_batches = false;  // no rest with these
  int longest_rest = 8;        // epochs; 0: never rest
  double rest_below = 1e-3;    // of the mean gap of the last epoch

  void validate() const;
};

class Schedule {
 public:
  Schedule(std::int64_t blocks, const ScheduleOptions& options);

  void begin_epoch(Random& random, double mean_gap);  // mean_gap: of a block, last epoch
  bool in_epoch() const { return in_epoch_ != 0; }
  bool has_batch() const { return position_ < order_.size(); }
  // Valid until the epoch ends; of the first `end` blocks of the epoch's order.
  std::span<const std::int32_t> next_batch(std::uint64_t end = UINT64_MAX) const;
  void finish_batch(std::span<const double> gaps);  // the batch was visited and had these gaps
  void end_epoch();
  void wake_all();

  int batch_size() const { return options_.batch_size; }
  std::uint64_t position() const { return position_; }        // in the epoch's order
  std::int64_t length() const { return std::ssize(order_); }  // of that order
  double fraction_done() const {
    return order_.empty() ? 1.0 : static_cast<double>(position_) / static_cast<double>(order_.size());
  }

  void visit(StateArchive& archive);

 private:
  bool rests() const { return !options_.fixed_batches && options_.longest_rest > 0; }

  ScheduleOptions options_;
  std::vector<std::uint8_t> wait_, streak_;  // epochs still to rest; visits in a row without a gap
  std::vector<std::int32_t> order_;          // of this epoch
  std::uint64_t position_ = 0, in_epoch_ = 0;
  double rest_gap_ = 0;
};

}  // namespace lwsvm
