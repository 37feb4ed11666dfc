// Batch normalisation in training, through chunks and barriers, against the whole batch at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "checks.h"
#include "net/batch_runner.h"
#include "net/evaluator.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

constexpr int kClasses = 4;

std::shared_ptr<const Layer> convolution3x3(std::int64_t in, std::int64_t out) {
  ConvolutionSpec spec;
  spec.in_channels = in;
  spec.out_channels = out;
  spec.window.height = spec.window.width = 3;
  spec.window.pad_top = spec.window.pad_left = spec.window.pad_bottom = spec.window.pad_right = 1;
  spec.bias = false;
  return std::make_shared<ConvolutionLayer>(spec);
}

Graph image_net() {  // two normalisations of images, a shortcut around the second
  Graph graph;
  int x = graph.add_input("x", {2, 3, 5});
  x = graph.add("bn0", layer<BatchNormLayer>(2, 1e-3f, 0.3f), {x});
  x = graph.add("conv1", convolution3x3(2, 5), {x});
  x = graph.add("bn1", layer<BatchNormLayer>(5), {x});
  const int fork = graph.add("leaky", layer<LeakyReluLayer>(0.1f), {x});
  x = graph.add("conv2", convolution3x3(5, 5), {fork});
  x = graph.add("bn2", layer<BatchNormLayer>(5), {x});
  x = graph.add("add", layer<AddLayer>(), {fork, x});
  x = graph.add("flatten", layer<FlattenLayer>(), {x});
  graph.add("dense", layer<DenseLayer>(75, kClasses), {x});
  return graph;
}

Graph vector_net() {  // normalisations at the start, in the middle and at the very end
  Graph graph;
  int x = graph.add_input("x", {6});
  x = graph.add("bn0", layer<BatchNormLayer>(6, 0.1f), {x});
  x = graph.add("dense1", layer<DenseLayer>(6, 9), {x});
  x = graph.add("bn1", layer<BatchNormLayer>(9, 0.1f), {x});
  x = graph.add("abs", layer<AbsLayer>(), {x});
  x = graph.add("dense2", layer<DenseLayer>(9, kClasses), {x});
  graph.add("bn2", layer<BatchNormLayer>(kClasses, 0.1f), {x});
  return graph;
}

Graph parallel_net() {  // one value normalised twice, and a normalisation that nobody reads
  Graph graph;
  const int x = graph.add_input("x", {6});
  const int dense = graph.add("dense1", layer<DenseLayer>(6, kClasses), {x});
  const int a = graph.add("bn1", layer<BatchNormLayer>(kClasses, 0.1f), {dense});
  const int b = graph.add("bn2", layer<BatchNormLayer>(kClasses, 0.1f), {dense});
  graph.add("unread", layer<BatchNormLayer>(kClasses, 0.1f), {a});
  const int relu = graph.add("relu", layer<ReluLayer>(), {b});
  graph.add("add", layer<AddLayer>(), {a, relu, dense});
  return graph;
}

void expect_trains_like_naive(Graph graph, int samples, std::uint64_t seed) {
  SCOPED_TRACE("batch " + std::to_string(samples));
  randomise(graph, seed);
  const naive::Setting setting = clear_setting(graph, samples, seed, true, 2e-5);
  const VectorSource source = [&] {
    Random random(seed, 31);
    std::vector<std::int32_t> labels(at(samples));
    for (auto& label : labels) label = static_cast<std::int32_t>(random.below(kClasses));
    const auto& values = setting.inputs[0].values;
    return VectorSource(element_count(graph.node(0).shape), {values.begin(), values.end()}, labels);
  }();
  std::vector<std::int32_t> batch(at(samples)), labels;
  std::iota(batch.begin(), batch.end(), 0);
  for (int i = 0; i < samples; ++i) labels.push_back(source.label(i));
  const Loss loss(LossKind::cross_entropy, MarginMatrix(kClasses));
  const auto objective = [&](const naive::Setting& there) {
    return naive_loss(loss, naive::run(graph, there).values[at(graph.scores())], labels) / samples;
  };
  const std::vector<double> statistics = naive::run(graph, setting).statistics;
  const std::vector<float> before = graph.statistics();
  const int unread = graph.find("unread").value_or(-1);

  const Threads threads(2);
  std::vector<float> gradient(graph.parameters().size(), 0.0f);
  const LossSums sums = BatchRunner(graph, threads).differentiate(source, batch, loss, 0, gradient);
  EXPECT_EQ(sums.samples, samples);
  EXPECT_NEAR(sums.mean_loss(), objective(setting), 2e-5);
  Direction direction;
  direction.inputs = {std::vector<double>(setting.inputs[0].values.size(), 0.0)};
  for (std::size_t i = 0; i < gradient.size(); i += repetitions(1, 5)) {
    direction.parameters.assign(gradient.size(), 0.0);
    direction.parameters[i] = 1;
    ASSERT_NEAR(gradient[i], finite_difference(setting, direction, 2e-6, objective), 2e-5)
        << "parameter " << i;
  }
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const bool moves = unread < 0 || index < graph.node(unread).statistics.begin ||
                       index >= graph.node(unread).statistics.end();
    ASSERT_NEAR(graph.statistics()[i], moves ? statistics[i] : static_cast<double>(before[i]), 1e-5)
        << "statistic " << i;
  }
}

TEST(BatchNorm, TrainsOnTheWholeBatchHoweverItIsCut) {
  for (int samples : {2, 3, 8, 9, 13, 37}) {
    expect_trains_like_naive(image_net(), samples, 1);
    expect_trains_like_naive(vector_net(), samples, 2);
    expect_trains_like_naive(parallel_net(), samples, 3);
  }
}

TEST(BatchNorm, TrainsOnOneSample) {
  expect_trains_like_naive(image_net(), 1, 1);
  expect_trains_like_naive(vector_net(), 1, 2);  // nothing varies: every gradient in front of it is 0
}

// Far from zero with little variation: a variance as E[x^2] - E[x]^2 in float would be noise.
TEST(BatchNorm, KeepsItsDigitsFarFromZeroOnceItHasSeenABatch) {
  Graph graph;
  const int x = graph.add_input("x", {1});
  const int bn = graph.add("bn", layer<BatchNormLayer>(1, 1e-5f, 1.0f), {x});
  graph.add("dense", layer<DenseLayer>(1, 2), {bn});
  graph.parameters() = {1, 0, 1, -1, 0, 0};
  graph.statistics() = {0, 1};
  constexpr int samples = 64;
  std::vector<float> values;
  Random random(3);
  double mean = 0, variance = 0;
  for (int i = 0; i < samples; ++i) values.push_back(1000.0f + static_cast<float>(random.uniform(-1, 1)));
  for (float value : values) mean += static_cast<double>(value) / samples;
  for (float value : values) variance += std::pow(static_cast<double>(value) - mean, 2) / (samples - 1);
  const VectorSource source(1, values, std::vector<std::int32_t>(samples, 0));
  std::vector<std::int32_t> batch(samples);
  std::iota(batch.begin(), batch.end(), 0);
  const Threads threads(1);
  BatchRunner runner(graph, threads);
  std::vector<float> gradient(graph.parameters().size());
  for (int step = 0; step < 2; ++step)
    runner.differentiate(source, batch, Loss(LossKind::cross_entropy, MarginMatrix(2)), 0, gradient);
  EXPECT_NEAR(graph.statistics()[0], mean, 1e-3);
  EXPECT_NEAR(graph.statistics()[1], variance, 1e-4);
}

// With momentum 1 the running averages are the batch's: frozen, the network then scores nearly as in
// training.
TEST(BatchNorm, FrozenOnABatchScoresAsInTrainingOnIt) {
  Graph graph;
  const int x = graph.add_input("x", {6});
  const int bn = graph.add("bn", layer<BatchNormLayer>(6, 1e-5f, 1.0f), {x});
  graph.add("dense", layer<DenseLayer>(6, kClasses), {bn});
  randomise(graph, 4);
  constexpr int samples = 1000;  // so that unbiased and biased variance agree to 0.1%
  const VectorSource source = random_source({6}, samples, kClasses, 4);
  std::vector<std::int32_t> batch(samples);
  std::iota(batch.begin(), batch.end(), 0);
  const Threads threads(2);
  const Loss loss(LossKind::hinge, MarginMatrix(kClasses));
  std::vector<float> gradient(graph.parameters().size());
  const double before = Evaluator(graph, threads).evaluate(source, loss).mean_loss();
  const double training =
      BatchRunner(graph, threads).differentiate(source, batch, loss, 0, gradient).mean_loss();
  const double after = Evaluator(graph, threads).evaluate(source, loss).mean_loss();
  EXPECT_NEAR(after, training, 2e-3 * training);
  EXPECT_GT(std::abs(before - training), 2e-2 * training);
}

}  // namespace
}  // namespace lwsvm
