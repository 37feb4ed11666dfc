// y = min(max(x, low), high): what a ReLU (0 to infinity) and a Clip compute. A kernel that has its output in
// registers can do it on the way out, to the bits of the layer by itself (a NaN becomes `low`).
#pragma once

#include <limits>

namespace lwsvm {

struct Clamp {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  float operator()(float x) const {
    const float raised = x > low ? x : low;
    return raised > high ? high : raised;
  }
  bool is_relu() const { return low == 0.0f && high == std::numeric_limits<float>::infinity(); }
};

}  // namespace lwsvm
