#include "checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/shape_layers.h"
#include "net/program.h"

namespace lwsvm {
namespace {

constexpr double step = 2e-6;

std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

std::vector<bool> ancestors_of(const Graph& graph, int target) {
  std::vector<bool> found(graph.nodes().size(), false);
  std::vector<int> open{target};
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    if (found[at(node)]) continue;
    found[at(node)] = true;
    for (int input : graph.node(node).inputs) open.push_back(input);
  }
  return found;
}

Direction zero_direction(const naive::Setting& setting) {
  Direction zero;
  zero.parameters.assign(setting.parameters.size(), 0.0);
  for (const naive::Tensor& input : setting.inputs) zero.inputs.emplace_back(input.values.size(), 0.0);
  return zero;
}

double product(const Direction& a, const Direction& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.parameters.size(); ++i) sum += a.parameters[i] * b.parameters[i];
  for (std::size_t k = 0; k < a.inputs.size(); ++k)
    for (std::size_t i = 0; i < a.inputs[k].size(); ++i) sum += a.inputs[k][i] * b.inputs[k][i];
  return sum;
}

double norm(const Direction& a) {
  return std::sqrt(product(a, a));
}

// Runs a Program with every gradient asked for, its memory full of NaN beforehand. Returns the gradient of
// <functional, output>.
Direction run_program(const Graph& graph, const naive::Setting& setting,
                      const std::vector<double>& functional, std::vector<float>& output) {
  const int target = graph.scores(), samples = setting.inputs[0].samples;
  const std::vector<bool> needed = ancestors_of(graph, target);
  ProgramOptions options;
  options.samples = samples;
  std::vector<float> gradient(graph.parameters().size(), 0.0f);
  for (int node = 0; node <= target; ++node) {
    if (!needed[at(node)]) continue;
    const Node& n = graph.node(node);
    if (n.is_input()) options.input_gradients.push_back(node);
    if (n.trained.size == 0) continue;
    options.learn.push_back(node);
    std::fill_n(gradient.begin() + n.trained.begin, n.trained.size, std::nanf(""));
  }
  Program program(graph, options);
  program.load(graph);
  Workspace workspace = program.make_workspace();
  std::fill(workspace.arena.begin(), workspace.arena.end(), std::nanf(""));
  std::fill(workspace.scratch.begin(), workspace.scratch.end(), std::nanf(""));
  std::fill(workspace.patterns.begin(), workspace.patterns.end(), std::uint8_t{77});
  for (std::size_t k = 0; k < setting.inputs.size(); ++k)
    std::copy(setting.inputs[k].values.begin(), setting.inputs[k].values.end(),
              program.input(workspace, static_cast<int>(k)));
  program.forward(workspace, PatternUse::record);
  output.assign(program.output(workspace),
                program.output(workspace) + samples * program.output_spec().size());
  std::copy(functional.begin(), functional.end(), program.output_gradient(workspace));
  AlignedBuffer<float> packed(program.packed_gradient_floats());
  std::fill(packed.begin(), packed.end(), std::nanf(""));
  program.backward(workspace, packed.data());
  program.unpack_gradient(graph, packed.data(), gradient.data());
  Direction found = zero_direction(setting);
  found.parameters = doubles(gradient);
  const std::vector<int> inputs = graph.inputs();
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] <= target && needed[at(inputs[k])]) {
      const float* from = program.input_gradient(workspace, static_cast<int>(k));
      found.inputs[k].assign(from, from + found.inputs[k].size());
    }
  return found;
}

}  // namespace

std::vector<float> random_floats(std::int64_t count, double low, double high, Random& random) {
  std::vector<float> values(at(count));
  for (float& value : values) value = static_cast<float>(random.uniform(low, high));
  return values;
}

void randomise(Graph& graph, std::uint64_t seed) {
  Random random(seed, 11);
  for (const Node& node : graph.nodes())
    for (const Parameter& parameter : node.parameters) {
      double low = -1, high = 1;
      if (parameter.role == Role::weight) {
        high = std::sqrt(4.0 * static_cast<double>(parameter.shape[0]) /
                         static_cast<double>(parameter.range.size));
        low = -high;
      }
      if (parameter.name == "variance") low = 0.3, high = 2;
      if (parameter.name == "scale") low = 0.5, high = 1.5;
      auto& store = parameter.role == Role::statistic ? graph.statistics() : graph.parameters();
      for (std::int64_t i = parameter.range.begin; i < parameter.range.end(); ++i)
        store[at(i)] = static_cast<float>(random.uniform(low, high));
    }
}

naive::Setting clear_setting(const Graph& graph, int samples, std::uint64_t seed, bool training,
                             double clearance) {
  naive::Setting setting;
  setting.parameters = doubles(graph.parameters());
  setting.statistics = doubles(graph.statistics());
  setting.training = training;
  Random random(seed, 12);
  for (int attempt = 0; attempt < 60; ++attempt) {
    setting.inputs.clear();
    for (int input : graph.inputs()) {
      naive::Tensor tensor(graph.node(input).shape, samples);
      for (double& value : tensor.values)
        value = static_cast<double>(static_cast<float>(random.uniform(-1, 1)));
      setting.inputs.push_back(std::move(tensor));
    }
    if (naive::run(graph, setting).kink > clearance) return setting;
  }
  ADD_FAILURE() << "no inputs found that keep clear of kinks";
  return setting;
}

double finite_difference(const naive::Setting& setting, const Direction& direction, double h,
                         const std::function<double(const naive::Setting&)>& function) {
  const auto moved = [&](double by) {
    naive::Setting there = setting;
    for (std::size_t i = 0; i < there.parameters.size(); ++i)
      there.parameters[i] += by * direction.parameters[i];
    for (std::size_t k = 0; k < there.inputs.size(); ++k)
      for (std::size_t i = 0; i < there.inputs[k].values.size(); ++i)
        there.inputs[k].values[i] += by * direction.inputs[k][i];
    return function(there);
  };
  return (moved(h) - moved(-h)) / (2 * h);
}

void expect_like_naive(Graph& graph, int samples, std::uint64_t seed) {
  randomise(graph, seed);
  const naive::Setting setting = clear_setting(graph, samples, seed);
  const naive::Tensor expected = naive::run(graph, setting).values[at(graph.scores())];
  ASSERT_EQ(expected.shape, graph.node(graph.scores()).shape);
  Random random(seed, 13);
  std::vector<double> functional(expected.values.size());
  for (double& value : functional) value = static_cast<double>(static_cast<float>(random.uniform(-1, 1)));

  std::vector<float> output;
  const Direction found = run_program(graph, setting, functional, output);
  ASSERT_EQ(output.size(), expected.values.size());
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double off = std::abs(static_cast<double>(output[i]) - expected.values[i]);
    worst = off <= worst ? worst : off;  // a NaN counts as worse
    largest = std::max(largest, std::abs(expected.values[i]));
  }
  EXPECT_LE(worst, 2e-6 * (1 + largest)) << "output";

  const auto value = [&](const naive::Setting& there) {
    const naive::Tensor scores = naive::run(graph, there).values[at(graph.scores())];
    double sum = 0;
    for (std::size_t i = 0; i < functional.size(); ++i) sum += functional[i] * scores.values[i];
    return sum;
  };
  const double size = norm(found);
  ASSERT_TRUE(std::isfinite(size)) << "the gradient is not all written";
  const auto expect_slope = [&](const Direction& direction, const std::string& where) {
    const double slope = finite_difference(setting, direction, step, value);
    EXPECT_NEAR(product(found, direction), slope, 1e-5 * (1 + size) * std::max(1.0, norm(direction) / 4))
        << where;
  };
  for (int round = 0; round < 2; ++round) {
    Direction direction = zero_direction(setting);
    for (double& d : direction.parameters) d = random.uniform(-1, 1);
    for (auto& input : direction.inputs)
      for (double& d : input) d = random.uniform(-1, 1);
    expect_slope(direction, "a random direction");
  }
  for (int round = 0; round < 10 && !found.parameters.empty(); ++round) {
    const std::size_t i = random.below(found.parameters.size());
    Direction direction = zero_direction(setting);
    direction.parameters[i] = 1;
    expect_slope(direction, "parameter " + std::to_string(i));
  }
  for (int round = 0; round < 6; ++round) {
    const std::size_t k = random.below(found.inputs.size()), i = random.below(found.inputs[k].size());
    Direction direction = zero_direction(setting);
    direction.inputs[k][i] = 1;
    expect_slope(direction, "input " + std::to_string(k) + ", element " + std::to_string(i));
  }
}

void expect_layer_like_naive(std::shared_ptr<const Layer> layer, const std::vector<Shape>& inputs,
                             const std::string& what) {
  for (int samples : {1, 37}) {
    SCOPED_TRACE(what + ", batch " + std::to_string(samples));
    Graph graph;
    std::vector<int> nodes;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      nodes.push_back(graph.add_input("x" + std::to_string(k), inputs[k]));
    graph.add("layer", layer, nodes);
    expect_like_naive(graph, samples, 1);
    // After a convolution the layer meets channels-last values.
    if (inputs[0].size() != 3) continue;
    Graph after_convolution;
    nodes.clear();
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const int input = after_convolution.add_input("x" + std::to_string(k), inputs[k]);
      ConvolutionSpec spec;
      spec.in_channels = spec.out_channels = inputs[k][0];
      nodes.push_back(after_convolution.add("conv" + std::to_string(k),
                                            std::make_shared<ConvolutionLayer>(spec), {input}));
    }
    after_convolution.add("layer", layer, nodes);
    expect_like_naive(after_convolution, samples, 2);
  }
}

VectorSource random_source(const Shape& shape, int samples, int classes, std::uint64_t seed) {
  Random random(seed, 14);
  std::vector<std::int32_t> labels(at(samples));
  for (auto& label : labels)
    label = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(classes)));
  return {element_count(shape), random_floats(samples * element_count(shape), -1, 1, random), labels};
}

double naive_loss(const Loss& loss, const naive::Tensor& scores, const std::vector<std::int32_t>& labels) {
  double total = 0;
  for (int n = 0; n < scores.samples; ++n) {
    const int truth = labels[at(n)];
    double worst = -HUGE_VAL, sum = 0;
    for (int y = 0; y < loss.classes(); ++y) {
      worst =
          std::max(worst, static_cast<double>(loss.margins()(y, truth)) + scores(n, y) - scores(n, truth));
      sum += std::exp(scores(n, y) - scores(n, truth));
    }
    total += loss.kind() == LossKind::hinge ? worst : std::log(sum);
  }
  return total;
}

namespace {

std::shared_ptr<const Layer> convolution(std::int64_t in, std::int64_t out, std::int64_t window,
                                         std::int64_t pad, bool bias) {
  ConvolutionSpec spec;
  spec.in_channels = in;
  spec.out_channels = out;
  spec.window.height = spec.window.width = window;
  spec.window.pad_top = spec.window.pad_left = spec.window.pad_bottom = spec.window.pad_right = pad;
  spec.bias = bias;
  return std::make_shared<ConvolutionLayer>(spec);
}

std::shared_ptr<const Layer> halving_pool() {
  WindowSpec window;
  window.height = window.width = window.stride_height = window.stride_width = 2;
  return std::make_shared<MaxPoolLayer>(window);
}

}  // namespace

Graph small_conv_net(float dropout) {
  Graph graph;
  int x = graph.add_input("x", {1, 16, 16});
  x = graph.add("conv1", convolution(1, 12, 5, 0, true), {x});
  x = graph.add("relu1", layer<ReluLayer>(), {x});
  x = graph.add("pool1", halving_pool(), {x});
  x = graph.add("conv2", convolution(12, 12, 3, 0, true), {x});
  x = graph.add("relu2", layer<ReluLayer>(), {x});
  x = graph.add("pool2", halving_pool(), {x});
  x = graph.add("flatten", layer<FlattenLayer>(), {x});
  x = graph.add("fc1", layer<DenseLayer>(48, 64), {x});
  x = graph.add("relu3", layer<ReluLayer>(), {x});
  if (dropout > 0) x = graph.add("dropout", layer<DropoutLayer>(dropout), {x});
  graph.add("svm", layer<DenseLayer>(64, 10), {x});
  randomise(graph, 1);
  return graph;
}

Graph small_batch_norm_net() {
  Graph graph;
  int x = graph.add_input("x", {3, 8, 8});
  x = graph.add("conv1", convolution(3, 16, 3, 1, false), {x});
  x = graph.add("bn1", layer<BatchNormLayer>(16), {x});
  const int fork = graph.add("relu1", layer<ReluLayer>(), {x});
  x = graph.add("conv2", convolution(16, 16, 3, 1, false), {fork});
  x = graph.add("bn2", layer<BatchNormLayer>(16), {x});
  x = graph.add("add", layer<AddLayer>(), {x, fork});
  x = graph.add("relu2", layer<ReluLayer>(), {x});
  x = graph.add("pool", halving_pool(), {x});
  x = graph.add("global", layer<GlobalPoolLayer>(GlobalPoolLayer::Reduction::average), {x});
  x = graph.add("flatten", layer<FlattenLayer>(), {x});
  graph.add("svm", layer<DenseLayer>(16, 10), {x});
  randomise(graph, 2);
  return graph;
}

}  // namespace lwsvm
