#include "net/program.h"

#include <algorithm>

#include "base/error.h"
#include "base/simd.h"

namespace lwsvm {
namespace {

bool contains(const std::vector<int>& list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

class RelayoutKernel final : public Kernel {
 public:
  RelayoutKernel(int samples, TensorSpec from, TensorSpec to)
      : samples_(samples), from_(std::move(from)), to_(std::move(to)) {}

  void forward(const ForwardArgs& args) const override {
    relayout(from_, args.inputs[0], to_, args.output, samples_);
  }
  void backward(const BackwardArgs& args) const override {
    if (args.input_gradients[0])
      relayout(to_, args.output_gradient, from_, args.input_gradients[0], samples_);
  }

 private:
  int samples_;
  TensorSpec from_, to_;
};

// Which nodes the targets depend on, as far back as the node `from`.
std::vector<bool> ancestors(const Graph& graph, int from, const std::vector<int>& targets) {
  std::vector<bool> needed(graph.nodes().size(), false);
  for (int target : targets) needed[static_cast<std::size_t>(target)] = true;
  for (int node = *std::max_element(targets.begin(), targets.end()); node > from; --node)
    if (needed[static_cast<std::size_t>(node)])
      for (int input : graph.node(node).inputs) needed[static_cast<std::size_t>(input)] = true;
  return needed;
}

// A ReLU that feeds one max-pool and nothing else: maxpool(relu(x)) = relu(maxpool(x)), done in one go by the
// pool. Not if one of the two replays its pattern and the other does not.
bool pool_absorbs(const Graph& graph, int node, const std::vector<bool>& needed,
                  const std::vector<int>& targets, const std::vector<int>& free_nodes) {
  if (contains(targets, node) || graph.node(node).is_input() ||
      graph.node(node).layer->kind() != LayerKind::relu)
    return false;
  int pools = 0;
  for (int consumer : graph.consumers(node)) {
    if (!needed[static_cast<std::size_t>(consumer)]) continue;
    if (graph.node(consumer).layer->kind() != LayerKind::max_pool) return false;
    if (contains(free_nodes, node) != contains(free_nodes, consumer)) return false;
    ++pools;
  }
  return pools == 1;
}

// The ReLU or Clip that `node` does for the one layer that reads it, or -1. Not where patterns are kept.
int clamp_behind(const Graph& graph, int node, const std::vector<bool>& needed,
                 const std::vector<int>& targets) {
  if (contains(targets, node) || !graph.node(node).layer->absorbs_clamp()) return -1;
  int reader = -1;
  for (int consumer : graph.consumers(node)) {
    if (!needed[static_cast<std::size_t>(consumer)]) continue;
    if (reader >= 0) return -1;
    reader = consumer;
  }
  return reader >= 0 && graph.node(reader).layer->as_clamp() ? reader : -1;
}

}  // namespace

std::size_t group_size(const Graph& graph, int from) {
  for (int index = from + 1; index < static_cast<int>(graph.nodes().size()); ++index) {
    const Node& node = graph.node(index);
    if (node.is_input()) continue;
    std::vector<Shape> shapes;
    for (int input : node.inputs) shapes.push_back(graph.node(input).shape);
    if (node.layer->interleaving(shapes) == Interleaving::wanted)
      return static_cast<std::size_t>(simd_lanes());
  }
  return 1;
}

Program::Program(const Graph& graph, const ProgramOptions& options) : options_(options) {
  const int target = options.target >= 0 ? options.target : graph.scores();
  differentiates_ = !options.learn.empty() || !options.input_gradients.empty();
  std::vector<int> targets = options.extra_targets;
  targets.push_back(target);
  const std::vector<bool> needed = ancestors(graph, options.from, targets);
  std::vector<bool> left_to_pool(graph.nodes().size(), false), left_to_source = left_to_pool;
  node_value_.assign(graph.nodes().size(), -1);
  for (int node = std::max(0, options.from); node <= *std::max_element(targets.begin(), targets.end());
       ++node) {
    const auto at = static_cast<std::size_t>(node);
    if (options.from >= 0 ? node == options.from : graph.node(node).is_input()) {
      Value input;
      input.spec = {graph.node(node).shape, Layout::channels_first};
      if (input.spec.shape.size() == 3) input.spec.layout = options.image_layout;
      input.differentiated = contains(options.input_gradients, node);
      node_value_[at] = static_cast<int>(values_.size());
      input_values_.push_back(node_value_[at]);
      values_.push_back(std::move(input));
    } else if (needed[at]) {
      const auto source = static_cast<std::size_t>(graph.node(node).inputs[0]);
      left_to_pool[at] =
          !left_to_source[at] && pool_absorbs(graph, node, needed, targets, options.free_nodes);
      if (left_to_pool[at] || left_to_source[at]) {
        node_value_[at] = node_value_[source];
        continue;
      }
      CompileRequest request;
      request.absorbs_relu = left_to_pool[source];
      request.parameter_gradient = contains(options.learn, node);
      const int clamp = keeps_patterns() ? -1 : clamp_behind(graph, node, needed, targets);
      if (clamp >= 0) {
        request.clamp = graph.node(clamp).layer->as_clamp();
        left_to_source[static_cast<std::size_t>(clamp)] = true;
      }
      add_step(graph, node, std::move(request));
    }
  }
  // Whoever reads the results finds them in the order that was asked for.
  target_value_ = layout_for(node_value_[static_cast<std::size_t>(target)], options.image_layout);
  for (int extra : options.extra_targets)
    extra_values_.push_back(layout_for(node_value_[static_cast<std::size_t>(extra)], options.image_layout));
  share_memory();
  plan_memory();
}

// What a value of this shape is in a layout, which is about images.
TensorSpec Program::spec_for(const Shape& shape, Layout layout) const {
  if (shape.size() != 3) return {shape, Layout::channels_first};
  if (layout != Layout::interleaved) return {shape, layout};
  return {shape, layout, interleaved_lanes(options_.samples)};
}

Layout Program::layout_of(const Layer& layer, const std::vector<int>& inputs) const {
  std::vector<Shape> shapes;
  bool images = true, interleaved = false, channels_last = false;
  for (int input : inputs) {
    const TensorSpec& spec = value(input).spec;
    shapes.push_back(spec.shape);
    images &= spec.shape.size() == 3;
    interleaved |= spec.layout == Layout::interleaved;
    channels_last |= spec.layout != Layout::channels_first;
  }
  const Interleaving interleaving = images ? layer.interleaving(shapes) : Interleaving::impossible;
  if (interleaving == Interleaving::wanted || (interleaving == Interleaving::possible && interleaved))
    return Layout::interleaved;
  switch (layer.preferred_layout()) {
    case LayoutPreference::channels_first:
      return Layout::channels_first;
    case LayoutPreference::channels_last:
      return Layout::channels_last;
    case LayoutPreference::any:
      break;
  }
  return channels_last ? Layout::channels_last : Layout::channels_first;
}

// The value in this layout: itself, or a copy made by a step of its own (shared by all who want it).
int Program::layout_for(int index, Layout layout) {
  const TensorSpec wanted = spec_for(value(index).spec.shape, layout);
  if (same_order(wanted, value(index).spec)) return index;
  for (int consumer : value(index).consumers) {
    const Step& step = steps_[static_cast<std::size_t>(consumer)];
    if (step.node < 0 && value(step.output).spec == wanted) return step.output;
  }
  Step step;
  step.kernel = std::make_unique<RelayoutKernel>(options_.samples, value(index).spec, wanted);
  step.inputs = {index};
  const bool differentiated = value(index).differentiated;
  push_step(std::move(step), wanted, differentiated);
  return steps_.back().output;
}

// `request` says what the node does for its neighbours, and whether it learns.
void Program::add_step(const Graph& graph, int node_index, CompileRequest request) {
  const Node& node = graph.node(node_index);
  Step step;
  step.node = node_index;
  step.learns = request.parameter_gradient;
  step.is_free = contains(options_.free_nodes, node_index);
  std::vector<int> inputs;
  for (int input : node.inputs) inputs.push_back(node_value_[static_cast<std::size_t>(input)]);
  const Layout layout = layout_of(*node.layer, inputs);

  request.samples = options_.samples;
  request.training = options_.training;
  for (int input : inputs) {
    step.inputs.push_back(layout_for(input, layout));
    request.inputs.push_back(spec_for(value(input).spec.shape, layout));
    request.input_gradient |= value(input).differentiated;
  }
  request.output = spec_for(node.shape, layout);
  try {
    step.kernel = node.layer->compile(request);
  } catch (const Error& error) {
    throw Error(fmt::format("{} (layer '{}')", error.what(), node.name));
  }
  push_step(std::move(step), request.output, request.parameter_gradient || request.input_gradient);
  node_value_[static_cast<std::size_t>(node_index)] = steps_.back().output;
}

void Program::push_step(Step step, const TensorSpec& output, bool differentiated) {
  const int index = step_count();
  for (int input : step.inputs) value(input).consumers.push_back(index);
  step.output = static_cast<int>(values_.size());
  step.pattern = pattern_bytes_;
  step.packed = packed_floats_;
  if (keeps_patterns()) pattern_bytes_ += (step.kernel->pattern_bytes() + 63) / 64 * 64;
  if (step.learns)
    packed_floats_ +=
        static_cast<std::size_t>(aligned(static_cast<std::int64_t>(step.kernel->packed_gradient_floats())));
  scratch_floats_ = std::max(scratch_floats_, step.kernel->scratch_floats());
  if (step.kernel->sums() > 0) barriers_.push_back(steps_.size());
  Value made;
  made.spec = output;
  made.producer = index;
  made.differentiated = differentiated;
  values_.push_back(std::move(made));
  steps_.push_back(std::move(step));
}

}  // namespace lwsvm
