// What a checkpoint says of a refinement, looked at before it is believed.
//
// A checkpoint's CRC shows that nothing was damaged, not that it was written for this run, nor by this
// version. Sizes and counts that index something are checked here; what is wrong in another way ends as a
// rejected move.
#pragma once

#include <cstdint>

#include "base/checkpoint.h"

namespace lwsvm {

// Throws Error, naming what is wrong, unless a Refiner with so many parameters, opened layers and training
// samples (transformed copies not counted) could have saved it.
void check_refine_state(const Checkpoint& checkpoint, std::size_t parameters, std::size_t layers,
                        std::int64_t samples);

}  // namespace lwsvm
