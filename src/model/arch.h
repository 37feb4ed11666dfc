// Networks from a name or from a string such as conv12x5-relu-pool2-dense256-relu.
//
// Every network is   input (raw pixels) -> normalize -> the layers of the string -> svm (the scores).
// Nodes are named by kind and number in the order of the string: conv1, bn1, relu1, pool1, conv2, ...
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/graph.h"

namespace lwsvm {

// `arch` is a built-in name ("mnist", "cifar/4") or a string of the grammar below, with "nobias:" before it
// for a network without biases. `mean` and `deviation` have one value, one per channel, or one per pixel;
// empty means 0 and 1. Throws Error, which points at the offending token:
//
//   [arch] conv12x5-reul-pool2: unknown token 'reul', did you mean 'relu'?
//                   ^~~~
Graph build_network(const std::string& arch, const Shape& input, int classes, const std::vector<float>& mean,
                    const std::vector<float>& deviation, std::uint64_t seed);

struct BuiltInArch {
  std::string name;
  std::string text;         // in the grammar
  std::string description;  // one line
};
const std::vector<BuiltInArch>& built_in_archs();

}  // namespace lwsvm
