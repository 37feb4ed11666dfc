#include "sgd/proximal_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "small_net.h"

namespace lwsvm {
namespace {

// The dual of the batch's problem, of which gamma must be the maximiser over [0, 1].
double dual(double gamma, double loss, double eta, const std::vector<double>& r,
            const std::vector<double>& delta, const std::vector<double>& metric) {
  double square = 0;
  for (std::size_t i = 0; i < r.size(); ++i) square += metric[i] * std::pow(r[i] + gamma * delta[i], 2);
  return gamma * loss - eta / 2 * square;
}

TEST(ClosedFormGamma, MaximisesTheDualOfTheBatch) {
  Random random(1);
  int inside = 0;
  for (int round = 0; round < 300; ++round) {
    const double eta = std::pow(10, random.uniform(-3, 1)), loss = random.uniform(0, 2);
    std::vector<double> r(5), delta(5), metric(5);
    double delta_r = 0, delta_delta = 0;
    for (std::size_t i = 0; i < r.size(); ++i) {
      r[i] = random.uniform(-1, 1);
      delta[i] = random.uniform(-1, 1);
      metric[i] = random.uniform(0.1, 3);
      delta_r += metric[i] * delta[i] * r[i];
      delta_delta += metric[i] * delta[i] * delta[i];
    }
    const double gamma = closed_form_gamma(loss, eta, delta_r, delta_delta);
    EXPECT_GE(gamma, 0);
    EXPECT_LE(gamma, 1);
    inside += gamma > 0 && gamma < 1;
    const double found = dual(gamma, loss, eta, r, delta, metric);
    for (int step = 0; step <= 1000; ++step)
      EXPECT_LE(dual(step / 1000.0, loss, eta, r, delta, metric), found + 1e-12 * (1 + std::abs(found)));
  }
  EXPECT_GT(inside, 30) << "too few maxima lie inside to say anything";
}

struct Situation {
  Graph graph = small_net(false);
  std::vector<float> before = graph.parameters(), delta;
  Regulariser regulariser;
  std::vector<int> layers;

  explicit Situation(std::vector<int> opened) : regulariser(graph, 0.01, opened), layers(std::move(opened)) {
    Random random(5);
    delta.resize(before.size());
    for (float& value : delta) value = static_cast<float>(random.uniform(-1, 1));
  }

  ProximalStep step(int threads = 1) const {
    std::vector<ParameterRange> moved;
    for (const Regulariser::Layer& layer : regulariser.layers()) moved.push_back(layer.range);
    return {regulariser, moved, before.size(), Threads(threads)};
  }
};

std::vector<int> weighted(const Graph& graph) {
  std::vector<int> nodes;
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node)
    if (graph.node(node).has_weights()) nodes.push_back(node);
  return nodes;
}

// At first the metric is 1 / |r + delta|: every weight moves by eta |r + gamma delta| / |r + delta|, against
// it.
TEST(ProximalStep, MovesByEtaInTheMetric) {
  Situation s(weighted(small_net(false)));
  for (double eta : {1e-3, 0.3}) {
    for (double loss : {0.0, 0.5, 1e6}) {
      ProximalStep step = s.step(2);
      std::vector<float> w = s.before;
      const double gamma = step.take(w, s.delta, loss, eta);
      EXPECT_TRUE(loss < 1e5 || gamma == 1);
      for (const Regulariser::Layer& layer : s.regulariser.layers())
        for (std::int64_t i = layer.range.begin; i < layer.range.end(); ++i) {
          const auto at = static_cast<std::size_t>(i);
          const double r = 0.01 * static_cast<double>(s.before[at]), d = static_cast<double>(s.delta[at]);
          const double expected = -eta * (r + gamma * d) / std::abs(r + d);
          EXPECT_NEAR(w[at] - s.before[at], expected, 1e-3 * eta + 1e-6);
        }
    }
  }
}

TEST(ProximalStep, WithoutARadiusNothingMoves) {
  Situation s(weighted(small_net(false)));
  ProximalStep step = s.step();
  std::vector<float> w = s.before;
  for (int round = 0; round < 5; ++round) step.take(w, s.delta, 1.0, 1e-30);
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(w[i], s.before[i], 1e-20);
}

TEST(ProximalStep, LeavesOtherLayersAlone) {
  const std::vector<int> all = weighted(small_net(false));
  Situation s({all.back()});
  ProximalStep step = s.step();
  std::vector<float> w = s.before;
  step.take(w, s.delta, 1.0, 0.1);
  const ParameterRange range = s.regulariser.layers()[0].range;
  for (std::int64_t i = 0; i < std::ssize(w); ++i)
    EXPECT_EQ(w[static_cast<std::size_t>(i)] == s.before[static_cast<std::size_t>(i)],
              i < range.begin || i >= range.end());
}

// Batch norm's scales are trained, but not regularised: r is 0 there.
TEST(ProximalStep, MovesWhatTheRegulariserDoesNotCover) {
  const std::vector<int> all = weighted(small_net(false));
  Situation s({all.back()});
  const ParameterRange other = s.graph.node(all.front()).trained;
  ProximalStep step(s.regulariser, {other}, s.before.size(), Threads(1));
  std::vector<float> w = s.before;
  EXPECT_EQ(step.take(w, s.delta, 1e6, 0.1), 1);
  for (std::int64_t i = 0; i < std::ssize(w); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool moved = i >= other.begin && i < other.end();
    EXPECT_NEAR(w[at] - s.before[at], moved ? -std::copysign(0.1, static_cast<double>(s.delta[at])) : 0.0,
                1e-4);
  }
}

}  // namespace
}  // namespace lwsvm
