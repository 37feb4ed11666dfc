// A network on images of another size, its dense layers as convolutions:
//
//   y = W vec(z) + b,  z of C x h x w    ->    a convolution of h x w, one output at every place where z fits
//
// Averages over the whole image stay averages over the whole image. What comes out at several places is
// averaged: scores(x) = mean over places, as in dense evaluation [SZ15].
#pragma once

#include "net/graph.h"

namespace lwsvm {

// `image` is what goes in: channels as before, height and width at least as before. The parameters are
// copied. Throws Error naming the layer that cannot be run so.
Graph fully_convolutional(const Graph& network, const Shape& image);

}  // namespace lwsvm
