#include "lwsvm/lambda_search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "net/evaluator.h"
#include "networks.h"

namespace lwsvm {
namespace {

struct LambdaSearch : testing::Test {
  Graph graph = chain_net(3);
  VectorSource train = random_source(image, 60, classes, 4),
               validation = random_source(image, 40, classes, 5);
  Loss loss{LossKind::hinge, MarginMatrix(classes)};
  LambdaSearchOptions options;

  LambdaChoice choose(const std::function<bool(const LambdaTrial&)>& report) {
    return choose_lambda(graph, train, validation, loss, options, Threads(1), report);
  }
};

TEST_F(LambdaSearch, TakesTheBestByValidationAndTheLargestOfThose) {
  const std::vector<float> before = graph.parameters();
  const LambdaChoice choice = choose([](const LambdaTrial&) { return true; });
  EXPECT_EQ(graph.parameters(), before);  // the graph is left as it was
  ASSERT_EQ(choice.trials.size(), 9u);    // two per decade from 1 to 1e-4
  EXPECT_EQ(choice.trials.front().lambda, options.largest);
  EXPECT_NEAR(choice.trials.back().lambda, options.smallest, 1e-9);
  double best = -1, expected = 0;
  for (std::size_t k = 0; k < choice.trials.size(); ++k) {
    const LambdaTrial& trial = choice.trials[k];
    if (k > 0) {
      EXPECT_LT(trial.lambda, choice.trials[k - 1].lambda);
    }
    if (trial.val_accuracy > best) best = trial.val_accuracy, expected = trial.lambda;
  }
  EXPECT_EQ(choice.lambda, expected);
}

TEST_F(LambdaSearch, StopsWhenItIsTold) {
  int told = 0;
  const LambdaChoice choice = choose([&](const LambdaTrial&) { return ++told < 3; });
  EXPECT_EQ(told, 3);
  EXPECT_EQ(choice.trials.size(), 3u);
  EXPECT_GT(choice.lambda, 0);
}

TEST_F(LambdaSearch, AroundACentreTheLargestLambdaAllButKeepsTheLayer) {
  const Node& layer = graph.node(lambda_search_layer(graph));
  const auto begin = graph.parameters().begin() + layer.trained.begin;
  options.centre.assign(begin, begin + layer.trained.size);
  options.largest = options.smallest = 1e6;
  const LambdaChoice choice = choose([](const LambdaTrial&) { return true; });
  const double loss_before = [&] {
    const Threads threads(1);
    Evaluator evaluator(graph, threads);
    return evaluator.evaluate(train, loss).mean_loss();
  }();
  ASSERT_EQ(choice.trials.size(), 1u);
  EXPECT_NEAR(choice.trials[0].train_loss, loss_before, 1e-3 * loss_before);
}

}  // namespace
}  // namespace lwsvm
