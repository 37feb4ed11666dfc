#include "net/layer.h"

#include "base/error.h"

namespace lwsvm {

std::string_view to_string(Linearity linearity) {
  switch (linearity) {
    case Linearity::linear:
      return "linear";
    case Linearity::piecewise_linear:
      return "piecewise linear";
    case Linearity::neither:
      return "neither";
  }
  return "neither";
}

std::int64_t Layer::flops(std::span<const Shape>, const Shape& output) const {
  return element_count(output);
}

const Shape& only_input(LayerKind kind, std::span<const Shape> inputs) {
  if (inputs.size() != 1) fail("net", "{} takes one input, not {}", to_string(kind), inputs.size());
  return inputs[0];
}

const Shape& only_image(LayerKind kind, std::span<const Shape> inputs) {
  const Shape& shape = only_input(kind, inputs);
  if (shape.size() != 3)
    fail("net", "{} takes images (channels x height x width), not {}", to_string(kind), to_string(shape));
  return shape;
}

const Shape& all_alike(LayerKind kind, std::span<const Shape> inputs) {
  if (inputs.empty()) fail("net", "{} takes at least one input", to_string(kind));
  for (const Shape& shape : inputs)
    if (shape != inputs[0])
      fail("net", "{} takes inputs of one shape, not {} and {}", to_string(kind), to_string(inputs[0]),
           to_string(shape));
  return inputs[0];
}

}  // namespace lwsvm
