#include "model/fully_convolutional.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

// What a value of the network has become.
struct Converted {
  int node = -1;               // of the new graph; of an image: C x H x W
  std::optional<Shape> flat;   // the network has it as a list, of an image of this shape: channels first
  bool channels_last = false;  // ... in whose order the channels came last
  int image = -1;              // of an image with its channels last: the node that has them first
};

class Converter {
 public:
  Converter(const Graph& network, const Shape& image) : old_(network), values_(network.nodes().size()) {
    const std::vector<bool> needed = needed_nodes();
    for (int i = 0; i <= network.scores(); ++i) {
      if (!needed[static_cast<std::size_t>(i)]) continue;
      Converted& value = values_[static_cast<std::size_t>(i)];
      const Node& node = network.node(i);
      if (node.is_input())
        value.node = new_.add_input(node.name, image);
      else
        value = convert(node);
    }
    finish(values_[static_cast<std::size_t>(network.scores())]);
  }
  Graph take() { return std::move(new_); }

 private:
  std::vector<bool> needed_nodes() const {
    std::vector<bool> needed(old_.nodes().size());
    needed[static_cast<std::size_t>(old_.scores())] = true;
    for (int i = old_.scores(); i >= 0; --i)
      if (needed[static_cast<std::size_t>(i)])
        for (const int input : old_.node(i).inputs) needed[static_cast<std::size_t>(input)] = true;
    return needed;
  }

  const Converted& input(const Node& node) const { return values_[static_cast<std::size_t>(node.inputs[0])]; }
  const Shape& old_shape(const Node& node) const { return old_.node(node.inputs[0]).shape; }

  [[noreturn]] void refuse(const Node& node, const std::string& why) const {
    fail("dense", "layer '{}' cannot be run on images of another size: {}; evaluate without --dense",
         node.name, why);
  }

  Converted convert(const Node& node) {
    if (const auto* dense = dynamic_cast<const DenseLayer*>(node.layer.get()))
      return as_convolution(node, *dense);
    if (const auto* move = dynamic_cast<const TransposeLayer*>(node.layer.get()))
      return transposed(node, *move);
    const bool flattens = dynamic_cast<const FlattenLayer*>(node.layer.get()) ||
                          dynamic_cast<const ReshapeLayer*>(node.layer.get());
    if (flattens) return flattened(node);
    if (is_average_of_all(node))
      return {
          add(node, std::make_shared<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average)), {}, false, -1};
    Converted value{add(node, node.layer), {}, false, -1};
    value.flat = input(node).flat;  // lists stay lists: activations, sums
    value.channels_last = input(node).channels_last;
    return value;
  }

  int add(const Node& node, std::shared_ptr<const Layer> layer) {
    std::vector<int> inputs;
    for (const int i : node.inputs) inputs.push_back(values_[static_cast<std::size_t>(i)].node);
    try {
      const int added = new_.add(node.name, std::move(layer), std::move(inputs));
      copy_parameters(node, added);
      return added;
    } catch (const Error& error) {
      refuse(node, error.what());
    }
  }

  void copy_parameters(const Node& from, int to) {
    const Node& there = new_.node(to);
    if (there.trained.size == from.trained.size)
      std::copy_n(old_.parameters().begin() + from.trained.begin, from.trained.size,
                  new_.parameters().begin() + there.trained.begin);
    if (there.statistics.size == from.statistics.size)
      std::copy_n(old_.statistics().begin() + from.statistics.begin, from.statistics.size,
                  new_.statistics().begin() + there.statistics.begin);
  }

  Converted transposed(const Node& node, const TransposeLayer& layer) {
    Converted value{add(node, node.layer), {}, false, -1};
    const Converted& before = input(node);
    if (layer.order() == std::vector<std::int64_t>{1, 2, 0}) value.image = before.node;
    if (layer.order() == std::vector<std::int64_t>{2, 0, 1} && before.image >= 0) value.node = before.image;
    return value;
  }

  // An image becomes a list: nothing is done, but it is known what its numbers are.
  Converted flattened(const Node& node) {
    Converted value = input(node);
    const Shape& before = old_shape(node);
    if (value.flat) return value;
    if (element_count(node.shape) != *std::max_element(node.shape.begin(), node.shape.end()))
      refuse(node, fmt::format("it makes {} of {}", to_string(node.shape), to_string(before)));
    if (before.size() != 3) refuse(node, "its input is no image");
    value.flat = before;
    if (value.image >= 0) {
      value.channels_last = true;
      value.flat = Shape{before[2], before[0], before[1]};
      value.node = value.image;
      value.image = -1;
    }
    return value;
  }

  bool is_average_of_all(const Node& node) const {
    const auto* pool = dynamic_cast<const AveragePoolLayer*>(node.layer.get());
    return pool && old_shape(node).size() == 3 && pool->window().height == old_shape(node)[1] &&
           pool->window().width == old_shape(node)[2] && node.shape[1] == 1 && node.shape[2] == 1;
  }

  Converted as_convolution(const Node& node, const DenseLayer& dense) {
    const Converted& before = input(node);
    if (!before.flat || element_count(*before.flat) != dense.in_features())
      refuse(node, "what it reads is no image, nor made of one");
    const Shape& image = *before.flat;
    ConvolutionSpec spec;
    spec.in_channels = image[0];
    spec.out_channels = dense.out_features();
    spec.window.height = image[1];
    spec.window.width = image[2];
    spec.bias = dense.has_bias();
    Converted value{add(node, std::make_shared<ConvolutionLayer>(spec)), {}, false, -1};
    if (before.channels_last) reorder(node, value.node, image);
    value.flat = Shape{dense.out_features(), 1, 1};
    return value;
  }

  // [out][h][w][c] to [out][c][h][w].
  void reorder(const Node& from, int to, const Shape& image) {
    const float* source = old_.parameters().data() + from.trained.begin;
    float* target = new_.parameters().data() + new_.node(to).trained.begin;
    const std::int64_t channels = image[0], places = image[1] * image[2], size = channels * places;
    for (std::int64_t out = 0; out < new_.node(to).shape[0]; ++out)
      for (std::int64_t place = 0; place < places; ++place)
        for (std::int64_t c = 0; c < channels; ++c)
          target[out * size + c * places + place] = source[out * size + place * channels + c];
  }

  void finish(const Converted& scores) {
    int at = scores.node;
    if (new_.node(at).shape.size() == 3) {
      at = new_.add("lwsvm.places", std::make_shared<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average),
                    {at});
      at = new_.add("lwsvm.scores", std::make_shared<FlattenLayer>(), {at});
    }
    new_.set_output(at);
  }

  const Graph& old_;
  Graph new_;
  std::vector<Converted> values_;
};

}  // namespace

Graph fully_convolutional(const Graph& network, const Shape& image) {
  LWSVM_CHECK(network.inputs().size() == 1);
  return Converter(network, image).take();
}

}  // namespace lwsvm
