// Whether mirrored images are samples like any other, so that sweeps may draw them beside the training
// images.
//
// Of an image that a network has not seen and of its mirror image it is right equally often, if either could
// have been in the data set. So the share of wrong answers on mirrored training images is held against that
// on validation images. Digits, letters, and shoes that all point one way fail by far; what a network has
// learnt from mirrored images already passes.
#pragma once

#include <cstdint>

#include "base/messages.h"
#include "base/sample_part.h"
#include "base/team.h"
#include "engine/threads.h"
#include "lwsvm/refine_observer.h"
#include "model/model.h"
#include "run/task.h"

namespace lwsvm::run {

// Looks at up to `samples` mirrored training images. False also where there are too few validation samples to
// tell, or where samples are no images. `start`: what the network is worth. Of several ranks each looks at
// some of its own. Throws Interrupted at Ctrl-C.
bool mirrored_are_like_new(const Model& model, const Task& task, const NetworkQuality& start,
                           std::int64_t samples, const Threads& threads, Messages& messages, Team& team);

// The training images and their mirror images, and this rank's part of them.
struct MirroredSamples {
  MirroredSamples(const Task& task, const Team& team);
  MirroredSamples(const MirroredSamples&) = delete;  // the part looks at the whole
  MirroredSamples& operator=(const MirroredSamples&) = delete;

  const AugmentedSource all;
  const SamplePart own;
};

}  // namespace lwsvm::run
