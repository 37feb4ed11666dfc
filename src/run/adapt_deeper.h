// Further layers of the network, after the new one.
//
// All layers of the network's end that can be (adapt_stages.h), at once, in the network with its new layer;
// where the outcome is no better by validation, half as many, and so on. To begin with few and to go on from
// there is worse: they fit the training samples alone, and leave nothing to learn for the others.
//
// One sweep, which moves all opened layers together, its radius judged on the validation part however small.
// Where samples have copies F is taken over one of each, drawn once, and a sweep draws another in every pass.
// What copies that nobody asked for (adapt_copies.h) have led to is kept if it is right on more validation
// samples, by two standard errors; anything else if nothing is lost by it. When all is chosen, the same sweep
// is made once more with all samples, from the network with its new layer alone, which is solved with all of
// them, too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lwsvm/refiner.h"
#include "run/adaptation.h"
#include "run/recording.h"
#include "run/stop_policy.h"

namespace lwsvm::run {

struct DeeperTime {
  StopPolicy& policy;
  bool limited = false;
  double reserve = 0;  // seconds for what comes afterwards
};

// Why it ended. `current` is the refiner at work, for checkpoints; `saved` is emptied by whoever goes on
// there.
std::string refine_deeper(Adaptation& run, const std::vector<std::vector<int>>& stages, DeeperTime time,
                          std::optional<SavedRun>& saved, Recording& recording, Refiner*& current);

}  // namespace lwsvm::run
