// What a run of `lwsvm adapt` works with once the features are there, and what it does with its new layer.
#pragma once

#include <vector>

#include "lwsvm/network_tail.h"
#include "net/evaluator.h"
#include "run/adapt_head.h"
#include "run/adapt_samples.h"
#include "run/adapt_state.h"
#include "run/recorder.h"

namespace lwsvm::run {

struct Adaptation {
  const AdaptJob& job;
  const Task& task;
  const Threads& threads;
  Messages& messages;
  const AdaptSamples& samples;
  Loss loss;
  Model& model;
  NetworkTail& tail;
  int head;                         // of the tail
  const std::vector<float>& start;  // the tail's parameters as they were, the new layer's zero
  std::vector<float>& head_only;    // ... with the new layer alone; empty: that is not solved yet
  AdaptState& state;

  bool own_validation() const { return !task.data.validation.empty(); }
  HeadOptions head_options() const;
  HeadRows rows(const SampleSource& source) const;
  void set_head(const LinearModel& found);
  void round_head();
  // Of the new layer around zero, and of the old ones around what they were.
  double regulariser(const std::vector<int>& changed) const;
  NetworkQuality quality(const std::vector<int>& changed) const;
  Quality with_test(const NetworkQuality& known) const;
};

// The new layer on the training part, and lambda.
void solve_new_layer(Adaptation& run, Recorder& recorder);

// The validation samples, where they are of the training set, have done their work when all is chosen, and
// can be learned from, too.
bool can_learn_from_validation(const Adaptation& run);
// The new layer, on the features that there are. False at Ctrl-C, with the layer as it was.
bool solve_with_everything(Adaptation& run);

std::vector<int> changed_layers(const Adaptation& run);  // nodes of the tail, the last one first

void note_adaptation(const Adaptation& run, const std::vector<int>& changed, bool all_samples,
                     const std::string& output, Model& model);

}  // namespace lwsvm::run
