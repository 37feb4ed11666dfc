// Whole refinements by several ranks, which are threads here.
#include <gtest/gtest.h>

#include <mutex>
#include <optional>

#include "base/sample_part.h"
#include "base/thread_team.h"
#include "lwsvm/lambda_search.h"
#include "lwsvm/refiner.h"
#include "networks.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

// Stops a run at one of its safe points, of all ranks: the one who asks is the last rank.
class StopAt final : public RefineObserver {
 public:
  StopAt(const Team& team, int at) : asks_(team.rank() + 1 == team.size()), left_(at) {}
  void on_open(int /*pass*/, const std::string& /*layer*/) override { --left_; }
  bool stop_requested() override { return asks_ && left_ < 0; }

 private:
  bool asks_;
  int left_;
};

RefineOptions team_options(Moves moves) {
  RefineOptions options;
  options.lambda = 1e-3;
  options.moves = moves;
  options.passes = 1;
  options.max_epochs = 3;
  options.batch = 20;
  return options;
}

struct Whole {
  VectorSource train = clusters(70, 1), validation = clusters(40, 101);
  Loss loss{LossKind::hinge, MarginMatrix(classes)};
  Graph network;
  RefineOptions options;

  double objective(const Graph& graph) const {
    const Threads threads(1);
    Evaluator evaluator(graph, threads);
    return evaluator.objective(evaluator.evaluate(train, loss), make_regulariser(graph, options));
  }
};

// What every rank's network is in the end. With `stop_at` the run is stopped there, saved, and goes on in
// another refiner.
std::vector<float> refine_together(Team& team, const Whole& whole, std::optional<int> stop_at = {}) {
  const Threads threads(1);
  const SamplePart train(whole.train, team), validation(whole.validation, team);
  Graph graph = whole.network;
  std::optional<Checkpoint> common, own;
  TemporaryFolder folder;
  {
    Refiner refiner(graph, train, &validation, whole.loss, whole.options, threads, team);
    StopAt observer(team, stop_at.value_or(1000000));
    const RefineEnd end = refiner.run(observer);
    if (!stop_at) {
      EXPECT_NE(end, RefineEnd::stopped);
      EXPECT_EQ(refiner.rises(), 0);
      EXPECT_LT(refiner.current().objective, refiner.start().objective);
      EXPECT_NEAR(refiner.current().objective, whole.objective(graph), 1e-6) << "of all samples";
      return graph.parameters();
    }
    EXPECT_EQ(end, RefineEnd::stopped);
    Checkpoint saved;
    team.is_first() ? refiner.save(saved) : refiner.save_own(saved);
    saved.save(folder / "part.bin");
  }
  // All ranks read what the first has written.
  std::vector<char> path(512, '\0');
  const std::string name = (folder / "part.bin").string();
  std::ranges::copy(name, path.begin());
  std::vector<char> paths(path.size() * static_cast<std::size_t>(team.size()));
  team.gather(std::as_bytes(std::span(path)), std::as_writable_bytes(std::span(paths)));
  common = Checkpoint::load(paths.data());
  if (!team.is_first() && common->has("solve.mu")) own = Checkpoint::load(folder / "part.bin");
  sum(team, 0.0);  // nobody's file goes before all have read it
  Graph again = whole.network;
  Refiner refiner(again, train, &validation, whole.loss, whole.options, threads, team);
  if (team.is_first())
    refiner.restore(std::move(*common));
  else
    refiner.restore_with(std::move(*common), std::move(own));
  RefineObserver nobody;
  EXPECT_NE(refiner.run(nobody), RefineEnd::stopped);
  return again.parameters();
}

TEST(TeamOfThreads, RefinesToOneNetworkThatIsBetterOnAllSamples) {
  for (const Moves moves : {Moves::layers, Moves::automatic})
    for (const int ranks : {2, 3}) {
      const Whole whole{.network = chain_net(21), .options = team_options(moves)};
      std::vector<std::vector<float>> results;
      std::mutex mutex;
      for (int run = 0; run < ranks - 1; ++run)
        with_ranks(ranks, [&](Team& team) {
          std::vector<float> result = refine_together(team, whole);
          const std::scoped_lock lock(mutex);
          results.push_back(std::move(result));
        });
      for (const auto& result : results) EXPECT_EQ(result, results[0]) << ranks << " ranks";
    }
}

// The SVMs of the grid are one rank's to within their gap, and the choice is that of what all see.
TEST(TeamOfThreads, ChoosesLambdaAsOneRankDoes) {
  const VectorSource train = clusters(90, 3), validation = clusters(60, 103);
  const Loss loss{LossKind::hinge, MarginMatrix(classes)};
  const auto choose = [&](Team& team) {
    Graph graph = chain_net(24);
    LambdaSearchOptions options;
    options.smallest = 1e-2;
    options.gap = 1e-3;
    options.max_epochs = 500;
    options.batch = 30;
    return choose_lambda(
        graph, SamplePart(train, team), SamplePart(validation, team), loss, options, Threads(1),
        [](const LambdaTrial&) { return true; }, team);
  };
  const LambdaChoice truth = choose(alone());
  for (const int ranks : {2, 5})
    with_ranks(ranks, [&](Team& team) {
      const LambdaChoice found = choose(team);
      ASSERT_EQ(found.trials.size(), truth.trials.size());
      double best = -1, expected = 0;
      for (std::size_t k = 0; k < found.trials.size(); ++k) {
        const LambdaTrial& trial = found.trials[k];
        EXPECT_EQ(trial.lambda, truth.trials[k].lambda);
        EXPECT_NEAR(trial.train_loss, truth.trials[k].train_loss, 0.05) << "lambda " << trial.lambda;
        if (trial.val_accuracy > best) best = trial.val_accuracy, expected = trial.lambda;
      }
      EXPECT_EQ(found.lambda, expected);
    });
}

TEST(TeamOfThreads, GoesOnToTheSameBits) {
  for (const auto& [moves, stop_at] : {std::pair(Moves::layers, 2), std::pair(Moves::automatic, 1)}) {
    const Whole whole{.network = chain_net(22), .options = team_options(moves)};
    const int at = stop_at;
    with_ranks(2, [&](Team& team) {
      const std::vector<float> straight = refine_together(team, whole);
      EXPECT_EQ(refine_together(team, whole, at), straight);
    });
  }
}

TEST(TeamOfThreads, WorksWhereSomeHaveNoSamples) {
  Whole whole{.train = clusters(3, 5), .validation = clusters(2, 6), .network = chain_net(23), .options = {}};
  for (const Moves moves : {Moves::layers, Moves::sweeps}) {
    whole.options = team_options(moves);
    with_ranks(5, [&](Team& team) { refine_together(team, whole); });
  }
}

}  // namespace
}  // namespace lwsvm
