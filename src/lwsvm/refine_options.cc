#include "lwsvm/refine_options.h"

#include <cmath>

#include "base/error.h"
#include "base/sample_subset.h"

namespace lwsvm {

void RefineOptions::validate() const {
  if (!(lambda > 0) || !std::isfinite(lambda)) fail("refine", "lambda is {}; it must be positive", lambda);
  if (!centre.empty() && (regularise_all || mode == RefineMode::paper))
    fail("refine", "a regulariser over all layers is around zero: leave out --centre");
  if (mu && (!(*mu >= 0) || !std::isfinite(*mu))) fail("refine", "mu is {}; it must be 0 or more", *mu);
  if (passes && *passes < 0) fail("refine", "{} passes; give 0 or more", *passes);
  if (patience && *patience < 1) fail("refine", "a patience of {}; give 1 or more", *patience);
  if (!(gap > 0 && gap < 1)) fail("refine", "the gap is {}; it is a fraction between 0 and 1", gap);
  if (max_epochs < 1) fail("refine", "{} epochs; give 1 or more", max_epochs);
  if (batch < 1) fail("refine", "a batch of {}; give 1 or more", batch);
  if (judged && (moves != Moves::sweeps || mode == RefineMode::paper))
    fail("refine", "F over a part of the samples is for sweeps alone");
}

std::vector<std::int32_t> judged_samples(std::int64_t training, std::int64_t judged, std::uint64_t seed) {
  constexpr std::uint64_t stream = 205;  // of its own
  return random_samples(training, judged, seed, stream);
}

}  // namespace lwsvm
