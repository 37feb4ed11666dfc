#include "model/onnx_input.h"

#include "model/onnx_reals.h"

namespace lwsvm {
namespace {

// Images of any size: the axes of height and width are free, and beside them is that of 1 or 3 channels.
// Which of the two is the height is returned; 0: these are none.
int free_height_axis(const onnx::TensorShapeProto& shape) {
  if (shape.dim_size() != 4) return 0;
  const auto is_free = [&](int axis) { return !shape.dim(axis).has_dim_value(); };
  const auto is_channels = [&](int axis) {
    return shape.dim(axis).dim_value() == 1 || shape.dim(axis).dim_value() == 3;
  };
  if (is_channels(1) && is_free(2) && is_free(3)) return 2;
  return is_channels(3) && is_free(1) && is_free(2) ? 1 : 0;
}

}  // namespace

Shape sample_shape(const ImportState& state, const onnx::ValueInfoProto& input,
                   const std::function<ImageSize()>& free_size) {
  const auto& type = input.type().tensor_type();
  if (!input.type().has_tensor_type() || !is_real(type.elem_type()))
    state.fail("input '{}' is not of real numbers; export the model so that it is", input.name());
  if (!type.has_shape() || type.shape().dim_size() < 2)
    state.fail("input '{}' has no shape such as [N, channels, height, width]; export the model with one",
               input.name());
  Shape sample;
  const int height_axis = free_height_axis(type.shape());
  const ImageSize size = height_axis > 0 ? free_size() : ImageSize{};
  for (int i = 1; i < type.shape().dim_size(); ++i) {
    const auto& dim = type.shape().dim(i);
    if (height_axis > 0 && (i == height_axis || i == height_axis + 1)) {
      sample.push_back(i == height_axis ? size.height : size.width);
      continue;
    }
    if (!dim.has_dim_value())
      state.fail(
          "axis {} of input '{}' has no fixed size; export the model with one (only the batch may be free)",
          i, input.name());
    sample.push_back(dim.dim_value());
  }
  const auto count = checked_count(sample, kLargestValue);
  if (!count || *count == 0)
    state.fail("input '{}' has the impossible shape {}", input.name(), to_string(sample));
  return sample;
}

}  // namespace lwsvm
