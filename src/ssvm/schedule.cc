#include "ssvm/schedule.h"

#include <algorithm>

#include "base/error.h"

namespace lwsvm {

void ScheduleOptions::validate() const {
  if (batch_size < 1) fail("ssvm", "the batch size is {}: at least one is needed", batch_size);
  if (longest_rest < 0 || longest_rest > 128)
    fail("ssvm", "the longest rest is {} epochs: it must be in 0..128", longest_rest);
  if (!(rest_below >= 0)) fail("ssvm", "the gap to rest below is {}: it must not be negative", rest_below);
}

Schedule::Schedule(std::int64_t blocks, const ScheduleOptions& options) : options_(options) {
  options.validate();
  order_.reserve(static_cast<std::size_t>(blocks));
  wait_.assign(static_cast<std::size_t>(blocks), 0);
  streak_.assign(static_cast<std::size_t>(blocks), 0);
}

void Schedule::begin_epoch(Random& random, double mean_gap) {
  order_.clear();
  position_ = 0;
  in_epoch_ = 1;
  rest_gap_ = options_.rest_below * mean_gap;
  const std::int64_t blocks = std::ssize(wait_);
  if (options_.fixed_batches) {
    const std::int64_t size = options_.batch_size, batches = (blocks + size - 1) / size;
    for (const std::int64_t batch : random_permutation(static_cast<std::size_t>(batches), random))
      for (std::int64_t b = batch * size; b < std::min(blocks, (batch + 1) * size); ++b)
        order_.push_back(static_cast<std::int32_t>(b));
    return;
  }
  for (std::int64_t b = 0; b < blocks; ++b) {
    if (wait_[b] == 0)
      order_.push_back(static_cast<std::int32_t>(b));
    else
      --wait_[b];
  }
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
}

std::span<const std::int32_t> Schedule::next_batch(std::uint64_t end) const {
  LWSVM_CHECK(has_batch() && position_ < end);
  auto size = std::min<std::size_t>(options_.batch_size, std::min(end, order_.size()) - position_);
  // The short batch of a fixed partition is its last, wherever the order puts it.
  if (options_.fixed_batches) size = std::min<std::size_t>(size, wait_.size() - order_[position_]);
  return {order_.data() + position_, size};
}

void Schedule::finish_batch(std::span<const double> gaps) {
  if (rests()) {
    for (std::size_t b = 0; b < gaps.size(); ++b) {
      const std::int32_t block = order_[position_ + b];
      if (gaps[b] > rest_gap_) {
        streak_[block] = 0;
        continue;
      }
      wait_[block] = static_cast<std::uint8_t>(std::min(1 << streak_[block], options_.longest_rest));
      if (streak_[block] < 7) ++streak_[block];
    }
  }
  position_ += gaps.size();
}

void Schedule::end_epoch() {
  order_.clear();
  position_ = 0;
  in_epoch_ = 0;
}

void Schedule::wake_all() {
  std::fill(wait_.begin(), wait_.end(), 0);
  std::fill(streak_.begin(), streak_.end(), 0);
}

void Schedule::visit(StateArchive& archive) {
  archive.array_of_same_size("schedule.wait", wait_);
  archive.array_of_same_size("schedule.streak", streak_);
  archive.array("schedule.order", order_);
  archive.scalar("schedule.position", position_);
  archive.scalar("schedule.in_epoch", in_epoch_);
  archive.scalar("schedule.rest_gap", rest_gap_);
  const auto known = [&](std::int32_t block) { return block >= 0 && block < std::ssize(wait_); };
  if (position_ > order_.size() || !std::all_of(order_.begin(), order_.end(), known) ||
      std::any_of(streak_.begin(), streak_.end(), [](auto streak) { return streak > 7; }))
    fail("checkpoint", "the order of the blocks is damaged: start without this checkpoint");
}

}  // namespace lwsvm
