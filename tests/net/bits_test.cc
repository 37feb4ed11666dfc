// The same bits whatever the number of threads, and again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "checks.h"
#include "net/batch_runner.h"
#include "net/evaluator.h"
#include "net/layers/dense_layer.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

std::vector<std::int32_t> first_samples(int count) {
  std::vector<std::int32_t> batch(at(count));
  std::iota(batch.begin(), batch.end(), 0);
  return batch;
}

struct Outcome {
  std::vector<float> gradient, statistics;
  double loss = 0;
};

void expect_same_bits(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.gradient.size(), b.gradient.size());
  EXPECT_EQ(std::memcmp(a.gradient.data(), b.gradient.data(), sizeof(float) * a.gradient.size()), 0);
  EXPECT_EQ(a.statistics, b.statistics);
  EXPECT_EQ(a.loss, b.loss);
}

// Two steps, so that the running averages have moved in between.
Outcome train(Graph graph, int threads, int batch_size) {
  const Threads workers(threads);
  BatchRunner runner(graph, workers);
  const Loss loss(LossKind::hinge, MarginMatrix(10));
  const VectorSource source = random_source(graph.node(0).shape, batch_size, 10, 5);
  Outcome outcome;
  outcome.gradient.assign(graph.parameters().size(), 0.0f);
  for (std::uint64_t step = 0; step < 2; ++step) {
    outcome.loss +=
        runner.differentiate(source, first_samples(batch_size), loss, step, outcome.gradient).loss;
    for (std::size_t i = 0; i < outcome.gradient.size(); ++i)
      graph.parameters()[i] -= 0.1f * outcome.gradient[i];
  }
  outcome.statistics = graph.statistics();
  return outcome;
}

TEST(BatchRunner, GivesTheSameBitsWithOneAndTwoThreadsAndAgain) {
  for (const Graph& graph : {small_conv_net(), small_conv_net(0.3f), small_batch_norm_net()})
    for (int batch : {37, 200}) {
      const Outcome one = train(graph, 1, batch);
      expect_same_bits(one, train(graph, 2, batch));
      expect_same_bits(one, train(graph, 2, batch));
      expect_same_bits(one, train(graph, 3, batch));
      double size = 0;
      for (float g : one.gradient) size += std::abs(static_cast<double>(g));
      EXPECT_GT(size, 0);
      EXPECT_TRUE(std::isfinite(size));
    }
}

TEST(BatchRunner, ForgetsTheBatchesBefore) {
  Graph graph = small_conv_net();
  const Threads threads(2);
  const Loss loss(LossKind::hinge, MarginMatrix(10));
  const VectorSource source = random_source(graph.node(0).shape, 60, 10, 5);
  std::vector<float> fresh(graph.parameters().size(), 0.0f), used(graph.parameters().size(), 7.0f);
  BatchRunner(graph, threads).differentiate(source, first_samples(13), loss, 0, fresh);
  BatchRunner runner(graph, threads);
  for (int size : {60, 1, 13, 37}) runner.differentiate(source, first_samples(size), loss, 0, used);
  runner.differentiate(source, first_samples(13), loss, 0, used);
  EXPECT_EQ(fresh, used);
}

TEST(BatchRunner, LearnsOnlyWhatItIsAskedTo) {
  for (Graph graph : {small_conv_net(), small_batch_norm_net()}) {
    const Threads threads(2);
    const Loss loss(LossKind::hinge, MarginMatrix(10));
    const VectorSource source = random_source(graph.node(0).shape, 13, 10, 5);
    std::vector<float> whole(graph.parameters().size());
    BatchRunner(graph, threads).differentiate(source, first_samples(13), loss, 0, whole);
    for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node) {
      const ParameterRange range = graph.node(node).trained;
      if (range.size == 0) continue;
      std::vector<float> part(graph.parameters().size(), 99.0f);
      Graph copy = graph;
      std::fill(copy.statistics().begin(), copy.statistics().end(), 0.0f);  // training does not read them
      BatchRunner(copy, threads, {.learn = {node}}).differentiate(source, first_samples(13), loss, 0, part);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(part.size()); ++i) {
        const bool own = i >= range.begin && i < range.end();
        ASSERT_NEAR(part[at(i)], own ? whole[at(i)] : 99.0f, 2e-5) << graph.node(node).name;
      }
    }
  }
}

TEST(Evaluator, GivesTheSameBitsWithOneAndTwoThreads) {
  for (const Graph& graph : {small_conv_net(0.3f), small_batch_norm_net()})
    for (int samples : {1, 49, 50, 51, 237}) {
      const VectorSource source = random_source(graph.node(0).shape, samples, 10, 6);
      const Loss loss(LossKind::cross_entropy, MarginMatrix(10));
      const Threads one(1), two(2);
      const LossSums a = Evaluator(graph, one).evaluate(source, loss),
                     b = Evaluator(graph, two).evaluate(source, loss);
      EXPECT_EQ(a.loss, b.loss);
      EXPECT_EQ(a.correct, b.correct);
      EXPECT_EQ(a.samples, samples);
    }
}

TEST(Evaluator, SumsWhatTheNaiveNetworkScores) {
  Graph graph = small_batch_norm_net();
  constexpr int samples = 53;
  const VectorSource source = random_source(graph.node(0).shape, samples, 10, 6);
  naive::Setting setting;
  setting.parameters.assign(graph.parameters().begin(), graph.parameters().end());
  setting.statistics.assign(graph.statistics().begin(), graph.statistics().end());
  naive::Tensor input(graph.node(0).shape, samples);
  std::vector<std::int32_t> labels;
  for (int n = 0; n < samples; ++n) {
    std::vector<float> sample(at(input.size()));
    source.read(n, sample.data());
    std::copy(sample.begin(), sample.end(), input.values.begin() + n * input.size());
    labels.push_back(source.label(n));
  }
  setting.inputs = {input};
  const naive::Tensor scores = naive::run(graph, setting).values.back();
  const Threads threads(2);
  Evaluator evaluator(graph, threads);
  for (LossKind kind : {LossKind::hinge, LossKind::cross_entropy}) {
    const Loss loss(kind, MarginMatrix(10));
    const LossSums sums = evaluator.evaluate(source, loss);
    EXPECT_NEAR(sums.loss, naive_loss(loss, scores, labels), 1e-4);
    double squares = 0;
    for (const Node& node : graph.nodes())
      if (node.has_weights())
        for (std::int64_t i = node.trained.begin; i < node.trained.end(); ++i)
          squares += std::pow(static_cast<double>(graph.parameters()[at(i)]), 2);
    EXPECT_NEAR(evaluator.objective(sums, Regulariser(graph, 0.01)), 0.01 / 2 * squares + sums.loss / samples,
                1e-9);
  }
  // It reads the parameters anew every time.
  const Loss loss(LossKind::hinge, MarginMatrix(10));
  std::fill(graph.parameters().begin(), graph.parameters().end(), 0.0f);
  EXPECT_DOUBLE_EQ(evaluator.evaluate(source, loss).mean_loss(), 1);
}

TEST(Evaluator, OfNothingIsNothing) {
  const Graph graph = small_conv_net();
  const Threads threads(2);
  const VectorSource none(element_count(graph.node(0).shape), {}, {});
  EXPECT_EQ(Evaluator(graph, threads).evaluate(none, Loss(LossKind::hinge, MarginMatrix(10))).samples, 0);
}

// A net of one dropout and one dense layer on inputs of ones: with weights 0 the hinge's slope is the same
// for all samples, so row 1 of the weight gradient is the mean of the masks; with one sample it is the mask.
std::vector<float> dropout_mask(float rate, std::uint64_t draw, int batch_size, std::int64_t features) {
  Graph graph;
  int x = graph.add_input("x", {features});
  x = graph.add("dropout", layer<DropoutLayer>(rate), {x});
  graph.add("dense", layer<DenseLayer>(features, 2, false), {x});
  const VectorSource source(features, std::vector<float>(at(features * batch_size), 1.0f),
                            std::vector<std::int32_t>(at(batch_size), 0));
  std::vector<float> gradient(graph.parameters().size());
  const Threads threads(1);
  BatchRunner(graph, threads)
      .differentiate(source, first_samples(batch_size), Loss(LossKind::hinge, MarginMatrix(2)), draw,
                     gradient);
  return {gradient.begin() + features, gradient.end()};
}

TEST(Dropout, KeepsItsShareAndTheMean) {
  for (float rate : {0.1f, 0.5f, 0.8f}) {
    constexpr std::int64_t features = 20000;
    const std::vector<float> mask = dropout_mask(rate, 3, 1, features);
    double kept = 0, mean = 0;
    for (float value : mask) {
      if (value != 0) {
        EXPECT_FLOAT_EQ(value, 1 / (1 - rate));
      }
      kept += value != 0;
      mean += static_cast<double>(value) / features;
    }
    const double keep = 1 - static_cast<double>(rate), deviation = std::sqrt(keep * (1 - keep) / features);
    EXPECT_NEAR(kept / features, keep, 5 * deviation);
    EXPECT_NEAR(mean, 1, 5 * deviation / keep);
  }
}

// Each of the 8 chunks of a batch draws for itself: all masks of all chunks in all steps must differ.
TEST(Dropout, DrawsAnewForEveryChunkAndStep) {
  constexpr std::int64_t features = 64;
  std::vector<std::vector<float>> masks;
  for (std::uint64_t draw = 0; draw < 40; ++draw) masks.push_back(dropout_mask(0.5f, draw, 1, features));
  for (std::size_t a = 0; a < masks.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) EXPECT_NE(masks[a], masks[b]) << a << " and " << b;
  // Two samples in two chunks of step 0. Were their masks equal the mean would be 0 or 2; were the second
  // one's that of a later step's first chunk, subtracting it would leave the first.
  const std::vector<float> both = dropout_mask(0.5f, 0, 2, features);
  EXPECT_GT(std::count(both.begin(), both.end(), 1.0f), 0);
  for (std::size_t later = 1; later < masks.size(); ++later) {
    std::vector<float> sum(both.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = (masks[0][i] + masks[later][i]) / 2;
    EXPECT_NE(both, sum) << "the second chunk of step 0 repeats in step " << later;
  }
}

}  // namespace
}  // namespace lwsvm
