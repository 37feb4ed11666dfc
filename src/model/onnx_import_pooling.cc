// MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool, and what Conv shares with them: window attributes,
// and data of one dimension as images of one row.
#include <algorithm>
#include <tuple>

#include "model/onnx_import.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

using Integers = std::vector<std::int64_t>;

// As many values as `otherwise` has, or those; each within [min, kLargestAttribute].
std::vector<std::int64_t> list_of(const NodeImport& node, const char* name,
                                  std::vector<std::int64_t> otherwise, std::int64_t min) {
  const std::size_t count = otherwise.size();
  std::vector<std::int64_t> values = node.integers(name, std::move(otherwise));
  if (values.size() != count)
    node.fail("its attribute '{}' has {} values, not {}", name, values.size(), count);
  for (std::int64_t value : values)
    if (value < min || value > kLargestAttribute)
      node.fail("its attribute '{}' has the value {}", name, value);
  return values;
}

// SAME: as many outputs as the input over the stride, rounded up.
std::pair<std::int64_t, std::int64_t> same_padding(std::int64_t in, std::int64_t window, std::int64_t stride,
                                                   std::int64_t dilation, bool more_after) {
  const std::int64_t out = (in + stride - 1) / stride;
  const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * stride + dilation * (window - 1) + 1 - in);
  const std::int64_t less = total / 2, more = total - less;
  return more_after ? std::pair{less, more} : std::pair{more, less};
}

void import_max_pool(NodeImport& node) {
  node.expect_inputs(1, 1);
  const WindowSpec window = read_window(node, node.shape(0), {});
  emit_from_image(node,
                  node.add([&] { return std::make_shared<MaxPoolLayer>(window); }, {add_as_image(node, 0)}));
}

void import_average_pool(NodeImport& node) {
  node.expect_inputs(1, 1);
  const WindowSpec window = read_window(node, node.shape(0), {});
  const bool count_padding = node.integer("count_include_pad", 0) != 0;
  emit_from_image(node, node.add([&] { return std::make_shared<AveragePoolLayer>(window, count_padding); },
                                 {add_as_image(node, 0)}));
}

void import_global_pool(NodeImport& node) {
  node.expect_batch_first(0);
  using Reduction = GlobalPoolLayer::Reduction;
  const Reduction reduction = node.op() == "GlobalMaxPool" ? Reduction::maximum : Reduction::average;
  emit_from_image(
      node, node.add([&] { return std::make_shared<GlobalPoolLayer>(reduction); }, {add_as_image(node, 0)}));
}

constexpr OperatorImporter kPooling[] = {
    {"AveragePool", import_average_pool},
    {"GlobalAveragePool", import_global_pool},
    {"GlobalMaxPool", import_global_pool},
    {"MaxPool", import_max_pool},
};

}  // namespace

Shape as_image(const Shape& sample) {
  return sample.size() == 2 ? Shape{sample[0], 1, sample[1]} : sample;
}

int add_as_image(NodeImport& node, int i) {
  if (node.shape(i).size() != 2) return node.tensor(i);
  return node.add([&] { return std::make_shared<ReshapeLayer>(as_image(node.shape(i))); }, {node.tensor(i)},
                  {}, "/row");
}

void emit_from_image(NodeImport& node, int value) {
  if (node.shape(0).size() == 2) {
    const Shape image = node.shape_of(value);
    value = node.add(
        [&] {
          return std::make_shared<ReshapeLayer>(Shape{image[0], image[2]});
        },
        {value}, {}, "/length");
  }
  node.emit_node(value, node.batch_axis(0));
}

WindowSpec read_window(const NodeImport& node, const Shape& sample, const std::vector<std::int64_t>& kernel) {
  node.expect_batch_first(0);
  if (sample.size() != 2 && sample.size() != 3)
    node.fail("{} is supported on images and rows only, not on {}", node.op(), to_string(sample));
  const bool known = !kernel.empty();
  if (!known && !node.has("kernel_shape")) node.fail("its attribute 'kernel_shape' is missing");
  const std::size_t axes = sample.size() - 1;
  Integers taps = list_of(node, "kernel_shape", known ? kernel : Integers(axes, 1), 1);
  if (known && taps != kernel)
    node.fail("its kernel_shape {} is not that of its weights {}", to_string(taps), to_string(kernel));
  Integers strides = list_of(node, "strides", Integers(axes, 1), 1);
  Integers dilations = list_of(node, "dilations", Integers(axes, 1), 1);
  Integers pads = list_of(node, "pads", Integers(2 * axes, 0), 0);
  if (axes == 1) {
    for (Integers* list : {&taps, &strides, &dilations}) list->insert(list->begin(), 1);
    pads = {0, pads[0], 0, pads[1]};
  }
  const Shape image = as_image(sample);
  WindowSpec w;
  w.height = taps[0], w.width = taps[1];
  w.stride_height = strides[0], w.stride_width = strides[1];
  w.dilation_height = dilations[0], w.dilation_width = dilations[1];
  w.pad_top = pads[0], w.pad_left = pads[1], w.pad_bottom = pads[2], w.pad_right = pads[3];
  w.ceil_mode = node.integer("ceil_mode", 0) != 0;

  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    const bool more_after = automatic == "SAME_UPPER";
    std::tie(w.pad_top, w.pad_bottom) =
        same_padding(image[1], w.height, w.stride_height, w.dilation_height, more_after);
    std::tie(w.pad_left, w.pad_right) =
        same_padding(image[2], w.width, w.stride_width, w.dilation_width, more_after);
  } else if (automatic == "VALID") {
    w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = 0;
  } else if (automatic != "NOTSET" && !automatic.empty()) {
    node.fail("auto_pad '{}' is not known", automatic);
  }
  return w;
}

std::span<const OperatorImporter> pooling_importers() {
  return kPooling;
}

}  // namespace lwsvm
