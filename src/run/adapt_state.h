// What a run of `lwsvm adapt` has found out and come to; a resumed one goes on from there.
#pragma once

#include <string>
#include <vector>

#include "run/quality.h"
#include "run/run_folder.h"
#include "run/settings.h"

namespace lwsvm::run {

struct AdaptState {
  std::string replaced, normalization;
  std::string scaling;  // of the users' pixels, as metadata have it; empty: the network carries its own
  bool head_solved = false;
  double lambda = 0, cross_validated = -1;
  double deep_lambda = 0;  // of old layers, in the last stage that was better
  double seconds = 0, feature_seconds = 0, head_seconds = 0;
  double solving_seconds = 0;  // of the new layer, if it may be solved once more with all samples
  double judging_seconds = 0;  // to see what a network is worth
  std::size_t stage = 0;       // how many numbers of layers were tried and were no better
  std::size_t improved = 0;    // 1: the network is better than with its new layer alone
  bool stages_over = false;
  std::string copies;        // of the training photos
  bool own_copies = false;   // ... that nobody asked for
  double radius = 0;         // of the stage that was better
  int passes = 0;            // ... that it made
  bool moved_again = false;  // with all samples
  int moves = 0, rejected = 0;
  Quality head;

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // run/settings.h
    visit("replaced", self.replaced);
    visit("normalization", self.normalization);
    visit("scaling", self.scaling);
    visit("head_solved", self.head_solved);
    visit("chosen_lambda", self.lambda);
    visit("cross_validated", self.cross_validated);
    visit("deep_lambda", self.deep_lambda);
    visit("seconds", self.seconds);
    visit("feature_seconds", self.feature_seconds);
    visit("head_seconds", self.head_seconds);
    visit("solving_seconds", self.solving_seconds);
    visit("judging_seconds", self.judging_seconds);
    visit("stage", self.stage);
    visit("improved", self.improved);
    visit("stages_over", self.stages_over);
    visit("copies", self.copies, std::string());
    visit("own_copies", self.own_copies, false);
    visit("radius", self.radius, 0.0);
    visit("stage_passes", self.passes, 0);
    visit("moved_again", self.moved_again, false);
    visit("moves", self.moves);
    visit("rejected", self.rejected);
    visit("head", self.head);
  }
};

void put_adapt_state(const AdaptState& state, Checkpoint& checkpoint);
AdaptState adapt_state_of(const SavedRun& saved);  // throws Error where it is of another version

}  // namespace lwsvm::run
