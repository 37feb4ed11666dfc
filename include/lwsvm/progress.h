// What runs tell while they run. Beside these events there are lines for people (on_message); one that begins
// with "warning: " is not to be missed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lwsvm/evaluate.h"

namespace lwsvm {

// Of training, batch by batch.
struct TrainProgress {
  int epoch = 0;  // under way, counted from 1
  std::int64_t samples_done = 0;
  double running_loss = 0;
  int epochs = 0;            // in all
  std::int64_t samples = 0;  // of an epoch
};

struct TrainEpoch {
  int epoch = 0;            // that has ended
  bool evaluated = false;   // whether what follows was computed
  bool taken_back = false;  // dfw: the objective would have risen
  double objective = 0, train_accuracy = 0;
  std::optional<double> val_accuracy;
  double seconds = 0;  // spent training, evaluations left out
  double samples_per_second = 0;
  int epochs = 0;  // in all
};

// While a move of refine() or adapt() is under way.
struct RefineProgress {
  int pass = 0;
  std::string layer;                     // "sweep": all of them
  double fraction = 0;                   // of a sweep
  int epoch = 0;                         // of a layer's solve: finished ones
  double primal = 0, dual = 0, gap = 0;  // of a layer's solve: estimates
  bool begins = false;                   // nothing else is known of this move yet
  double epoch_fraction = 0;             // of the epoch under way
  int max_epochs = 0;                    // of a layer's solve
  double loss = 0, radius = 0;           // of a sweep: mean loss so far, radius of its steps
  double mean_step = 0;                  // Frank-Wolfe steps, 0 to 1
};

// A move that has ended: the update of one layer, or a sweep over all.
struct RefineUpdate {
  int pass = 0;
  std::string layer;  // "sweep": all of them
  std::string form;   // of the dual state: exact, labels, factored, explicit; or sweep
  bool accepted = false;
  std::string reason;            // why it ended, or was rejected
  double before = 0, after = 0;  // objective; the same if it was rejected
  double gap = 0;                // duality gap of a layer's solve
  double train_accuracy = 0;
  std::optional<double> val_accuracy;
  double seconds = 0;
  double mu = 0;                     // of a layer's solve: its proximal weight
  int epochs = 0;                    // of a layer's solve; of a sweep: passes over the samples
  double radius = 0, mean_step = 0;  // of a sweep
};

struct RefinePass {
  int pass = 0;  // that has ended
  double objective = 0, train_accuracy = 0;
  std::optional<double> val_accuracy;
  double seconds = 0;  // of the run so far
};

// A short run that tries a radius for the steps of a sweep, or of training by Deep Frank-Wolfe.
struct RadiusTrial {
  double radius = 0;
  double objective = 0;  // that it leads to, on some of the samples
};

}  // namespace lwsvm
