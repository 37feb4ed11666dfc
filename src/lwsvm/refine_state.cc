#include "lwsvm/refine_state.h"

#include <algorithm>

#include "base/error.h"
#include "lwsvm/moves.h"
#include "lwsvm/refiner.h"

namespace lwsvm {
namespace {

// As Refiner::save has them.
constexpr std::size_t kStarted = 0, kLayerIndex = 2, kIsOpen = 7, kEnd = 8, kMove = 11, kCounts = 12;
// As Sweeper::save has them.
constexpr std::size_t kPass = 1, kPosition = 2, kSteps = 3, kPlannedSteps = 4, kSweepCounts = 5;

[[noreturn]] void absurd(const char* what) {
  fail("checkpoint", "{}: the checkpoint belongs to another run or another version of lwsvm; start anew",
       what);
}

}  // namespace

void check_refine_state(const Checkpoint& checkpoint, std::size_t parameters, std::size_t layers,
                        std::int64_t samples) {
  const auto count = checkpoint.get<std::int32_t>("refine.counts", kCounts);
  for (const char* name : {"refine.best_parameters", "refine.start_parameters"})
    checkpoint.get<float>(name, count[kStarted] ? parameters : 0);
  if (std::ranges::any_of(count, [](std::int32_t value) { return value < 0; }))
    absurd("one of its counts is negative");
  if (static_cast<std::size_t>(count[kLayerIndex]) >= layers ||
      static_cast<std::size_t>(count[kMove]) > layers)
    absurd("it has more layers than are opened");
  if (count[kEnd] > 1 + static_cast<std::int32_t>(RefineEnd::out_of_time))
    absurd("it ended in an unknown way");
  if (count[kIsOpen] != 0 && static_cast<std::size_t>(count[kMove]) == MoveChooser::kSweep)
    absurd("it has a layer open in the midst of a sweep");
  if (!checkpoint.has("sweep.under_way") || checkpoint.get<std::uint64_t>("sweep.under_way", 1)[0] == 0)
    return;
  const auto sweep = checkpoint.get<std::uint64_t>("sweep.counts", kSweepCounts);
  if (sweep[kPosition] > static_cast<std::uint64_t>(samples))
    absurd("its sweep has seen other samples than there are");
  if (sweep[kPass] > sweep[kSteps] || sweep[kSteps] > sweep[kPlannedSteps] || sweep[kPlannedSteps] == 0)
    absurd("its sweep has made other steps than it was to make");
}

}  // namespace lwsvm
