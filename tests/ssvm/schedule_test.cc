#include "ssvm/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace lwsvm {
namespace {

// One epoch; gap_of says what each block showed. Returns the batches.
template <typename GapOf>
std::vector<std::vector<std::int32_t>> run_epoch(Schedule& schedule, Random& random, const GapOf& gap_of) {
  std::vector<std::vector<std::int32_t>> batches;
  schedule.begin_epoch(random, 1.0);
  while (schedule.has_batch()) {
    const auto batch = schedule.next_batch();
    batches.emplace_back(batch.begin(), batch.end());
    std::vector<double> gaps;
    for (const auto block : batch) gaps.push_back(gap_of(block));
    schedule.finish_batch(gaps);
  }
  schedule.end_epoch();
  return batches;
}

TEST(Schedule, AnEpochVisitsEveryBlockOnceInANewOrder) {
  Schedule schedule(23, {.batch_size = 5});
  Random random(1);
  const auto busy = [](int) { return 1.0; };
  const auto first = run_epoch(schedule, random, busy), second = run_epoch(schedule, random, busy);
  EXPECT_NE(first, second);
  for (const auto& epoch : {first, second}) {
    ASSERT_EQ(epoch.size(), 5u);
    EXPECT_EQ(epoch.back().size(), 3u);
    std::set<int> seen;
    for (const auto& batch : epoch) seen.insert(batch.begin(), batch.end());
    EXPECT_EQ(seen.size(), 23u);
  }
}

TEST(Schedule, FixedBatchesAreTheSameRunsInEveryEpoch) {
  Schedule schedule(23, {.batch_size = 5, .fixed_batches = true});
  Random random(2);
  for (int epoch = 0; epoch < 10; ++epoch) {
    auto batches = run_epoch(schedule, random, [](int) { return 0.0; });  // no gap, and yet no rest
    std::sort(batches.begin(), batches.end());
    ASSERT_EQ(batches.size(), 5u);
    for (int k = 0; k < 5; ++k) {
      EXPECT_EQ(batches[k].size(), k < 4 ? 5u : 3u);
      for (std::size_t b = 0; b < batches[k].size(); ++b)
        EXPECT_EQ(batches[k][b], 5 * k + static_cast<int>(b));
    }
  }
}

TEST(Schedule, BlocksWithoutAGapRestLongerEachTimeAndWakeWhenTold) {
  Schedule schedule(10, {.batch_size = 4, .longest_rest = 4});
  Random random(3);
  std::vector<std::size_t> visits;
  const auto only_block_0_is_busy = [](int block) { return block == 0 ? 1.0 : 0.0; };
  const auto visited = [&] {
    std::size_t count = 0;
    for (const auto& batch : run_epoch(schedule, random, only_block_0_is_busy)) count += batch.size();
    return count;
  };
  for (int epoch = 0; epoch < 12; ++epoch) visits.push_back(visited());
  // Awake, rest 1, awake, rest 2, awake, rest 4, awake, rest 4 (the longest).
  EXPECT_EQ(visits, (std::vector<std::size_t>{10, 1, 10, 1, 1, 10, 1, 1, 1, 1, 10, 1}));
  schedule.wake_all();
  EXPECT_EQ(visited(), 10u);
}

}  // namespace
}  // namespace lwsvm
