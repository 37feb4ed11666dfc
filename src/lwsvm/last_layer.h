// A last layer as the linear SVM that it is:
//
//   scores = W f(z) + b,   f a fixed linear map of the layer's input z
//
// A dense layer with nothing but flattening after it: f(z) = z. A convolution whose positions p are averaged
// (or that has only one): a mean of linear maps is the linear map of the mean,
//
//   mean_p (W z_p + b) = W mean_p z_p + b,   z_p the window at p, with zeros in the padding
//
// and f, for each tap of the window, is a mean over the pixels that this tap meets: an average pool whose
// window has the convolution's positions, its dilation the convolution's stride and its stride the
// convolution's dilation.
#pragma once

#include <optional>

#include "dc/tail.h"
#include "net/graph.h"

namespace lwsvm {

// The network up to its scores, with a dense layer in place of the open one and all after it: the same
// scores, and the same weights in the same order, as [out][in][kh][kw] is [out][in kh kw]. Nodes before the
// open one keep their numbers.
struct DenseEnd {
  Graph network;
  int node = -1;
};

// Nothing if the open layer is no such layer: several groups, or something else after it.
std::optional<DenseEnd> dense_end(const Graph& network, const Tail& tail);

}  // namespace lwsvm
