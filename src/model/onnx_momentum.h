// The momentum of batch normalisation, ours and ONNX's: one minus the other.
//
// ONNX keeps running * momentum + batch * (1 - momentum). In floats 1 - (1 - 0.1f) is not 0.1f; in the
// decimals that people write it is, so the difference is taken there and both ways give what was meant: 0.1f
// <-> 0.9f.
#pragma once

#include <fmt/format.h>

#include <cstdlib>

namespace lwsvm {

inline float one_minus_momentum(float momentum) {
  const double decimal = std::strtod(fmt::format("{}", momentum).c_str(), nullptr);
  return static_cast<float>(1.0 - decimal);
}

}  // namespace lwsvm
