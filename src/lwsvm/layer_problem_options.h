// What an opened layer's problem can be told.
#pragma once

#include <cstdint>

#include "dc/decompose.h"
#include "ssvm/frank_wolfe.h"

namespace lwsvm {

struct LayerProblemOptions {
  int from = -1;        // the node whose values the samples are; -1: the network's input
  int free_layers = 0;  // how many of the last piecewise linear layers are searched
  LossSplit split = LossSplit::tight;
  StepRule step_rule = StepRule::per_block;
  bool exact_svm_layer = true;  // Frank-Wolfe steps there too, if false
  std::uint64_t memory = std::uint64_t{4} << 30;
  std::uint64_t taken = 0;  // of the memory, by others: the inputs are kept only if they fit beside it
};

}  // namespace lwsvm
