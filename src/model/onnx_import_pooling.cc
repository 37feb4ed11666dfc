// MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool, and the window attributes that Conv shares.
#include <algorithm>
#include <tuple>

#include "model/onnx_import.h"
#include "net/layers/pooling_layers.h"

namespace lwsvm {
namespace {

// Two values, or those of `otherwise`; each within [least, kLargestAttribute].
std::vector<std::int64_t> pair(const NodeImport& node, const char* name, std::vector<std::int64_t> otherwise,
                               std::int64_t least) {
  const std::size_t count = otherwise.size();
  std::vector<std::int64_t> values = node.integers(name, std::move(otherwise));
  if (values.size() != count)
    node.fail("its attribute '{}' has {} values, not {}", name, values.size(), count);
  for (std::int64_t value : values)
    if (value < least || value > kLargestAttribute)
      node.fail("its attribute '{}' has the value {}", name, value);
  return values;
}

// SAME: as many outputs as the input over the stride, rounded up.
std::pair<std::int64_t, std::int64_t> same_padding(std::int64_t in, std::int64_t window, std::int64_t stride,
                                                   std::int64_t dilation, bool more_behind) {
  const std::int64_t out = (in + stride - 1) / stride;
  const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * stride + dilation * (window - 1) + 1 - in);
  const std::int64_t less = total / 2, more = total - less;
  return more_behind ? std::pair{less, more} : std::pair{more, less};
}

void import_max_pool(NodeImport& node) {
  node.expect_inputs(1, 1);
  const WindowSpec window = read_window(node, node.shape(0), {});
  node.emit([&] { return std::make_shared<MaxPoolLayer>(window); }, {node.tensor(0)});
}

void import_average_pool(NodeImport& node) {
  node.expect_inputs(1, 1);
  const WindowSpec window = read_window(node, node.shape(0), {});
  const bool count_padding = node.integer("count_include_pad", 0) != 0;
  node.emit([&] { return std::make_shared<AveragePoolLayer>(window, count_padding); }, {node.tensor(0)});
}

void import_global_pool(NodeImport& node) {
  node.expect_batch_first(0);
  using Reduction = GlobalPoolLayer::Reduction;
  const Reduction reduction = node.op() == "GlobalMaxPool" ? Reduction::maximum : Reduction::average;
  node.emit([&] { return std::make_shared<GlobalPoolLayer>(reduction); }, {node.tensor(0)});
}

constexpr OperatorImporter kPooling[] = {
    {"AveragePool", import_average_pool},
    {"GlobalAveragePool", import_global_pool},
    {"GlobalMaxPool", import_global_pool},
    {"MaxPool", import_max_pool},
};

}  // namespace

WindowSpec read_window(const NodeImport& node, const Shape& image, const std::vector<std::int64_t>& kernel) {
  node.expect_batch_first(0);
  if (image.size() != 3) node.fail("{} is supported on images only, not on {}", node.op(), to_string(image));
  const bool known = !kernel.empty();
  if (!known && !node.has("kernel_shape")) node.fail("its attribute 'kernel_shape' is missing");
  const auto taps = pair(node, "kernel_shape", known ? kernel : std::vector<std::int64_t>{1, 1}, 1);
  if (known && taps != kernel)
    node.fail("its kernel_shape {} is not that of its weights {}", to_string(taps), to_string(kernel));
  const auto strides = pair(node, "strides", {1, 1}, 1);
  const auto dilations = pair(node, "dilations", {1, 1}, 1);
  const auto pads = pair(node, "pads", {0, 0, 0, 0}, 0);
  WindowSpec w;
  w.height = taps[0], w.width = taps[1];
  w.stride_height = strides[0], w.stride_width = strides[1];
  w.dilation_height = dilations[0], w.dilation_width = dilations[1];
  w.pad_top = pads[0], w.pad_left = pads[1], w.pad_bottom = pads[2], w.pad_right = pads[3];
  w.ceil_mode = node.integer("ceil_mode", 0) != 0;

  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    const bool behind = automatic == "SAME_UPPER";
    std::tie(w.pad_top, w.pad_bottom) =
        same_padding(image[1], w.height, w.stride_height, w.dilation_height, behind);
    std::tie(w.pad_left, w.pad_right) =
        same_padding(image[2], w.width, w.stride_width, w.dilation_width, behind);
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
