// First values of a network's parameters.
//
//   weights   Glorot uniform: U(-a, a), a = sqrt(6 / (fan_in + fan_out)) [GB10]
//             dense [out][in]:                fan_in = in,                  fan_out = out
//             convolution [out][in/g][kh][kw]: fan_in = in/g * kh * kw,     fan_out = out/g * kh * kw
//   biases    0
//   batch normalisation   scale 1, shift 0, mean 0, variance 1
//   PReLU     slope 0.25
//
// With g groups an input channel reaches only out/g outputs, hence the g in fan_out. Each node draws from its
// own stream (seed, node index): the numbers of a layer do not depend on how large the layers before it are.
#pragma once

#include <cstdint>

#include "net/graph.h"

namespace lwsvm {

void initialize_parameters(Graph& graph, std::uint64_t seed);

}  // namespace lwsvm
