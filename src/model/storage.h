// What the file that a model was read from can hold: write_onnx puts refined weights where the old ones were.
//
// They may lie there as float16, or be multiplied by a number on their way into the layer. Then not every
// float32 can be stored; and weights that two nodes share cannot be changed for one of them.
//
// A model that was not read from a file can hold everything.
#pragma once

#include <span>
#include <string>

#include "model/model.h"

namespace lwsvm {

// Why this layer's parameters cannot be changed in the file; empty if they can.
std::string why_not_storable(const Model& model, int node);

// Replaces this layer's weights and biases by the nearest that can be stored; true if one was not so already.
bool round_to_storage(const Model& model, int node, std::span<float> weights);
// ... of all layers, and their statistics.
void round_to_storage(Model& model);

}  // namespace lwsvm
