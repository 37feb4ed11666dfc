// Another last layer, for other classes, in the file that a network was read from.
//
//   ... -> features -> Gemm, MatMul + Add, or Conv 1x1 [-> average, ReLU, softmax ...] -> the old classes
//   ... -> features [-> GlobalAveragePool] -> Flatten -> Gemm -> the new classes
//
// The last layer is the first dense layer or convolution that is met on the way back from the output, through
// whatever averages, moves or squashes scores. A convolution in front of an average is a dense layer after
// it, as a mean of linear maps is the linear map of the mean, but for a ReLU between the two, which goes.
// Everything before the features stays as it was, byte by byte; what nobody needs any more is removed.
//
// The same for the input: normalisation that the network's users had to do becomes part of the file,
//
//   pixels 0..255 -> Sub -> Div [-> channels reversed] -> ...
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace lwsvm {

struct OldHead {
  std::string layer;                 // the node's name in the file, or its output's
  std::string kind;                  // Gemm, MatMul or Conv
  std::string features;              // the value that it reads
  Shape shape;                       // of one sample's features
  bool averaged = false;             // the new layer reads their average over the image
  std::int64_t width = 0;            // numbers that the new layer reads
  std::vector<std::string> dropped;  // operators after it that go with it, those that only move numbers apart
};

// Throws Error where the scores do not come from such a layer. The model must have been read from a file.
OldHead find_old_head(const Model& model);

// What a network's users do with their pixels:  (x - mean) / deviation, then perhaps BGR for RGB.
struct InputScaling {
  std::vector<float> mean, deviation;  // one number, or one per channel
  bool reversed = false;               // channels

  bool is_identity() const;
};

constexpr const char* kNewHead = "lwsvm.head";  // the name of the new layer, if it is free

// The network with a last layer for so many classes, all zeros, whose name is `new_head(model)`. Its one
// output has the old one's name.
Model with_new_head(const Model& model, const OldHead& head, int classes);
int new_head(const Graph& graph);  // the node

// The network with the scaling in front. Channels are where the input's shape, without the batch, has them.
Model with_scaling(const Model& model, const InputScaling& scaling);
// ... and without it again. Nothing changes where there is none.
Model without_scaling(const Model& model);

}  // namespace lwsvm
