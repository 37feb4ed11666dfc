// What stands between a data set and a network of another program: normalised pixels, another layout.
//
//   pixels as stored, channels first -> Normalize -> channels reversed -> Transpose or Reshape -> the network
//
// The layers are put in front of the network in memory only; write_onnx gives back the file as it was read.
#pragma once

#include <vector>

#include "model/model.h"

namespace lwsvm {

// Whether a network that takes `wanted` can be given samples of the shape `sample` (channels, height, width):
// as they are, with the channels last, or, if there is no doubt about the order, as another shape of that
// size.
bool can_take(const Shape& wanted, const Shape& sample);

// The model must have been read from a file, have one input, and be able to take the samples.
void adapt_input(Model& model, const Shape& sample, const std::vector<float>& mean,
                 const std::vector<float>& deviation, bool reversed = false);

}  // namespace lwsvm
