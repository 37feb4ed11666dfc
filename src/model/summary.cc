#include "model/summary.h"

#include <fmt/format.h>

#include "net/layers/activations.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

std::string describe_window(const WindowSpec& w) {
  std::string text = fmt::format("{}x{}", w.height, w.width);
  if (w.stride_height != 1 || w.stride_width != 1)
    text += w.stride_height == w.stride_width ? fmt::format(" stride {}", w.stride_height)
                                              : fmt::format(" stride {}x{}", w.stride_height, w.stride_width);
  if (w.dilation_height != 1 || w.dilation_width != 1)
    text += w.dilation_height == w.dilation_width
                ? fmt::format(" dilation {}", w.dilation_height)
                : fmt::format(" dilation {}x{}", w.dilation_height, w.dilation_width);
  const bool even = w.pad_top == w.pad_bottom && w.pad_left == w.pad_right && w.pad_top == w.pad_left;
  if (!even)
    text += fmt::format(" pad {},{},{},{}", w.pad_top, w.pad_left, w.pad_bottom, w.pad_right);
  else if (w.pad_top != 0)
    text += fmt::format(" pad {}", w.pad_top);
  return text;
}

std::string describe_layer(const Layer& layer) {
  if (const auto* convolution = dynamic_cast<const ConvolutionLayer*>(&layer)) {
    const ConvolutionSpec& spec = convolution->spec();
    std::string text = describe_window(spec.window);
    if (spec.groups != 1) text += fmt::format(" groups {}", spec.groups);
    return text;
  }
  if (const auto* pool = dynamic_cast<const MaxPoolLayer*>(&layer)) return describe_window(pool->window());
  if (const auto* pool = dynamic_cast<const AveragePoolLayer*>(&layer))
    return describe_window(pool->window());
  if (const auto* leaky = dynamic_cast<const LeakyReluLayer*>(&layer))
    return fmt::format("slope {}", leaky->slope());
  if (const auto* clip = dynamic_cast<const ClipLayer*>(&layer))
    return fmt::format("{} to {}", clip->low(), clip->high());
  if (const auto* dropout = dynamic_cast<const DropoutLayer*>(&layer))
    return fmt::format("rate {}", dropout->rate());
  return "";
}

}  // namespace

GraphSummary describe(const Graph& graph) {
  GraphSummary summary;
  for (const Node& node : graph.nodes()) {
    NodeSummary row;
    row.name = node.name;
    row.output_shape = node.shape;
    row.parameters = node.trained.size;
    row.statistics = node.statistics.size;
    for (int input : node.inputs) {
      row.inputs.push_back(graph.node(input).name);
      row.input_shapes.push_back(graph.node(input).shape);
    }
    if (node.is_input()) {
      row.kind = "Input";
    } else {
      row.kind = to_string(node.layer->kind());
      row.details = describe_layer(*node.layer);
      row.flops = node.layer->flops(row.input_shapes, node.shape);
      row.linearity = node.layer->linearity();
    }
    summary.parameters += row.parameters;
    summary.statistics += row.statistics;
    summary.flops += row.flops;
    summary.nodes.push_back(std::move(row));
  }
  return summary;
}

}  // namespace lwsvm
