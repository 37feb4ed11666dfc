// Whole refinements of small networks.
#include "lwsvm/refiner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "base/error.h"
#include "refinements.h"
#include "repetitions.h"

namespace lwsvm {
namespace {

using testing::HasSubstr;

TEST(Refiner, ObjectiveFallsAtEveryAcceptedUpdate) {
  int accepted = 0, improved = 0, runs = 0;
  for (const NamedNet& net : all_nets())
    for (std::uint64_t seed = 0; seed < repetitions(2, 1); ++seed)
      for (double lambda : {1e-2, 1e-4})
        for (Search search : {Search::automatic, Search::labels, Search::full}) {
          SCOPED_TRACE(net.name + ", seed " + std::to_string(seed) + ", lambda " + std::to_string(lambda));
          Graph graph = net.make(seed + 20);
          const VectorSource train = clusters(70, seed), validation = clusters(40, seed + 100);
          Random random(seed, 81);
          const Loss loss(LossKind::hinge,
                          seed % 2 ? MarginMatrix(classes) : random_margins(classes, random));
          // Search is for layers; the third time round it is sweeps, with and without layers.
          const Moves moves = search == Search::full ? kAllMoves[1 + seed % 2] : Moves::layers;
          RefineOptions options = small_options(lambda, moves);
          options.search = search;
          options.seed = seed;
          Watcher watcher(graph, train, loss, options);
          Refiner refiner(graph, train, &validation, loss, options, Threads(2));
          refiner.run(watcher);
          EXPECT_EQ(refiner.rises(), 0);
          EXPECT_EQ(refiner.updates(), static_cast<int>(watcher.updates.size()));
          int kept = 0;
          for (const LayerUpdate& update : watcher.updates) kept += update.accepted;
          EXPECT_EQ(refiner.rejected(), refiner.updates() - kept);
          accepted += kept;
          improved += watcher.updates.back().after < 0.9 * refiner.start().objective;
          ++runs;
          if (HasFailure()) return;
        }
  EXPECT_GT(accepted, runs) << "too little was accepted to say anything";
  EXPECT_GT(improved, runs / 2);
}

// Steps far beyond what the frozen activations can promise: some must be turned down.
TEST(Refiner, RejectedUpdatesLeaveTheWeightsAsTheyWere) {
  int rejected = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    for (const NamedNet& net : all_nets()) {
      SCOPED_TRACE(net.name);
      Graph graph = net.make(seed);
      const VectorSource train = clusters(50, seed);
      const Loss loss = zero_one_loss();
      RefineOptions options = small_options(1e-5);
      options.mu = 1e-7;
      options.search = Search::labels;
      options.max_epochs = 3;
      options.passes = 1;
      Watcher watcher(graph, train, loss, options);
      Refiner refiner(graph, train, nullptr, loss, options, Threads(2));
      refiner.run(watcher);
      EXPECT_EQ(refiner.rises(), 0);
      rejected += refiner.rejected();
      for (const LayerUpdate& update : watcher.updates) EXPECT_EQ(update.next_mu, 1e-7) << "mu was fixed";
    }
  EXPECT_GT(rejected, 3) << "nothing was rejected: nothing was tested";
}

TEST(Refiner, MuFollowsTheTrustRegionsRules) {
  for (const NamedNet& net : all_nets()) {
    Graph graph = net.make(5);
    const VectorSource train = clusters(60, 5);
    const Loss loss = zero_one_loss();
    RefineOptions options = small_options();
    options.passes = 3;
    Watcher watcher(graph, train, loss, options);
    Refiner refiner(graph, train, nullptr, loss, options, Threads(2));
    refiner.run(watcher);
    std::map<std::string, double> mu;
    for (const LayerUpdate& update : watcher.updates) {
      SCOPED_TRACE(net.name + ", " + update.layer);
      const bool svm_layer = update.layer == graph.node(refinable_layers(graph).back()).name;
      const double first = options.lambda * (svm_layer                   ? kMinMuOverLambda
                                             : update.form == "factored" ? kBoundMuOverLambda
                                                                         : kLabelsMuOverLambda);
      const double before = mu.contains(update.layer) ? mu[update.layer] : first;
      // Each rejection quadruples mu; what remains is the verdict on the last trial.
      const double attempts = std::log(update.mu / before) / std::log(4.0);
      EXPECT_NEAR(attempts, std::round(attempts), 1e-9);
      EXPECT_GE(attempts, -1e-9);
      EXPECT_LT(attempts, kMaxAttempts);
      const Trial trial{update.before, update.before - update.actual, update.before - update.predicted};
      EXPECT_NEAR(update.next_mu, next_mu(trial, judge(trial), update.mu, options.lambda), 1e-12);
      mu[update.layer] = update.next_mu;
    }
  }
}

TEST(Refiner, ModelOfTheSvmLayerIsExact) {
  for (RefineMode mode : {RefineMode::standard, RefineMode::paper})
    for (const NamedNet& net : all_nets())
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        SCOPED_TRACE(net.name);
        Graph graph = net.make(seed);
        const VectorSource train = clusters(60, seed);
        const Loss loss = zero_one_loss();
        RefineOptions options = small_options(1e-2);
        options.layers = {refinable_layers(graph).back()};
        options.mode = mode;
        options.max_epochs = 20;
        options.passes = 1;
        Watcher watcher(graph, train, loss, options);
        Refiner refiner(graph, train, nullptr, loss, options, Threads(2));
        if (mode == RefineMode::standard) {
          refiner.run(watcher);
          ASSERT_EQ(watcher.updates.size(), 1u);
          const LayerUpdate& update = watcher.updates[0];
          EXPECT_TRUE(update.accepted);
          EXPECT_GT(update.actual, 0);
          EXPECT_NEAR(update.predicted, update.actual, 3e-6 * update.before);
        } else {
          struct Last final : RefineObserver {
            void on_update(const LayerUpdate& update) override { last = update; }
            LayerUpdate last;
          } observer;
          refiner.run(observer);
          EXPECT_NEAR(observer.last.predicted, observer.last.actual, 3e-6 * (1 + observer.last.before));
          EXPECT_NE(observer.last.form, "exact") << "the paper takes Frank-Wolfe steps here too";
        }
      }
}

TEST(Refiner, BitsDoNotDependOnTheNumberOfThreads) {
  for (const NamedNet& net : all_nets())
    for (Moves moves : {Moves::layers, Moves::automatic}) {
      std::vector<std::vector<float>> found;
      for (int threads : {1, 2, 3}) {
        Graph graph = net.make(6);
        const VectorSource train = clusters(60, 6);
        const Loss loss = zero_one_loss();
        Refiner refiner(graph, train, nullptr, loss, small_options(1e-3, moves), Threads(threads));
        RefineObserver nobody;
        refiner.run(nobody);
        found.push_back(graph.parameters());
      }
      EXPECT_TRUE(same_bits(found[0], found[1]) && same_bits(found[0], found[2])) << net.name;
    }
}

// With the centre at the start nothing can be gained by shrinking: F(start) is the loss, and batch norm stays
// as it is.
TEST(Refiner, SweepsLeaveTheStatisticsOfBatchNormAlone) {
  for (const NamedNet& net : all_nets()) {
    Graph graph = net.make(2);
    const std::vector<float> statistics = graph.statistics();
    const VectorSource train = clusters(60, 2);
    const Loss loss = zero_one_loss();
    RefineOptions options = small_options(1e-3, Moves::sweeps);
    options.centre = graph.parameters();
    Refiner refiner(graph, train, nullptr, loss, options, Threads(2));
    RefineObserver nobody;
    refiner.run(nobody);
    EXPECT_TRUE(same_bits(graph.statistics(), statistics)) << net.name;
    EXPECT_EQ(refiner.start().objective, refiner.start().train_loss);
  }
}

// The rules: of the networks after every move, the start included, the one with the lowest validation loss
// (30 samples are too few for accuracy to tell), without validation that with the lowest F; or one on the
// line to it.
TEST(Refiner, MakesASweepOfKnownLengthAndRadiusAtOnce) {
  class NoRaces final : public RefineObserver {
   public:
    void on_race(double, double) override { ADD_FAILURE() << "the radius is known"; }
    void on_update(const LayerUpdate& update) override { updates.push_back(update); }
    std::vector<LayerUpdate> updates;
  };
  Graph graph = chain_net(2);
  const VectorSource train = clusters(400, 1), validation = clusters(50, 2);
  const Loss loss = zero_one_loss();
  const Threads threads(2);
  RefineOptions options = small_options(1e-3, Moves::sweeps);
  options.passes = 5;
  options.one_sweep = true;
  options.radius = 2e-3;
  Refiner refiner(graph, train, &validation, loss, options, threads);
  NoRaces observer;
  EXPECT_EQ(refiner.run(observer), RefineEnd::passes_done);
  ASSERT_EQ(observer.updates.size(), 1u);
  EXPECT_EQ(observer.updates[0].epochs, 5);
  EXPECT_EQ(observer.updates[0].eta, 2e-3);
}

TEST(Refiner, KeepsTheBestNetworkSeenAndStopsByTheRules) {
  int fell = 0, little = 0, done = 0;
  for (std::uint64_t seed = 0; seed < repetitions(6, 5); ++seed)
    for (bool with_validation : {true, false})
      for (Keep keep : {Keep::best, Keep::last}) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Graph graph = all_nets()[seed % all_nets().size()].make(seed);
        const std::vector<float> first = graph.parameters();
        const VectorSource train = clusters(40, seed, 1.5), validation = clusters(30, seed + 50, 1.5);
        const Loss loss = zero_one_loss();
        RefineOptions options = small_options(1e-3);
        options.passes = seed % 3 == 0 ? 1 : 8;
        options.keep = keep;
        options.patience = 1 + static_cast<int>(seed % 2);
        if (seed == 4) options.mu = 1e4;  // so close a trust region that nothing much is gained
        options.max_epochs = 8;
        Watcher watcher(graph, train, loss, options);
        Refiner refiner(graph, train, with_validation ? &validation : nullptr, loss, options, Threads(2));
        const RefineEnd end = refiner.run(watcher);
        refiner.keep_chosen();

        // Judged again from what was seen: when it ended ...
        const std::size_t layers = refiner.layers().size();
        double best_accuracy = refiner.start().val_accuracy, best_loss = refiner.start().val_loss;
        double best_objective = refiner.start().objective, before = best_objective;
        std::size_t best = 0;
        int below = 0;
        for (std::size_t m = 1; m <= watcher.updates.size(); ++m) {
          const LayerUpdate& update = watcher.updates[m - 1];
          const bool better = with_validation && update.val_loss != best_loss ? update.val_loss < best_loss
                                                                              : update.after < best_objective;
          if (better) {
            best = m;
            best_accuracy = update.val_accuracy;
            best_loss = update.val_loss;
            best_objective = update.after;
          }
          if (m % layers != 0) continue;
          below = with_validation && update.val_accuracy < best_accuracy ? below + 1 : 0;
          const bool val_fell = below == options.patience, small = before - update.after < 0.005 * before;
          before = update.after;
          const bool last = m == watcher.updates.size();
          EXPECT_EQ(last, val_fell || small || static_cast<int>(m / layers) == options.passes)
              << "move " << m;
          if (last) {
            EXPECT_EQ(end, val_fell ? RefineEnd::validation_fell
                           : small  ? RefineEnd::little_gained
                                    : RefineEnd::passes_done);
          }
        }
        // ... and what was kept.
        EXPECT_EQ(refiner.best_move(), static_cast<int>(best));
        std::vector<float> expected = keep == Keep::last ? watcher.after_updates.back()
                                      : best == 0        ? first
                                                         : watcher.after_updates[best - 1];
        for (std::size_t i = 0; i < expected.size() && refiner.kept_share() < 1; ++i)
          expected[i] = static_cast<float>(first[i] + refiner.kept_share() *
                                                          (static_cast<double>(expected[i]) - first[i]));
        EXPECT_TRUE(same_bits(graph.parameters(), expected));
        fell += end == RefineEnd::validation_fell;
        little += end == RefineEnd::little_gained;
        done += end == RefineEnd::passes_done;
      }
  EXPECT_GT(fell, 0) << "no run ended so: nothing was tested";
  EXPECT_GT(little, 0);
  EXPECT_GT(done, 0);
}

TEST(Refiner, PaperModeTakesWhatComesWithFixedMu) {
  for (const NamedNet& net : all_nets()) {
    SCOPED_TRACE(net.name);
    Graph graph = net.make(2);
    const VectorSource train = clusters(60, 2);
    const Loss loss = zero_one_loss();
    RefineOptions options = small_options();
    options.mode = RefineMode::paper;
    options.passes = 1;
    struct Updates final : RefineObserver {
      void on_update(const LayerUpdate& update) override { all.push_back(update); }
      std::vector<LayerUpdate> all;
    } updates;
    Refiner refiner(graph, train, nullptr, loss, options, Threads(2));
    refiner.run(updates);
    ASSERT_EQ(updates.all.size(), refiner.layers().size());
    for (const LayerUpdate& update : updates.all) {
      EXPECT_TRUE(update.accepted);
      EXPECT_EQ(update.attempts, 1);
      EXPECT_EQ(update.mu, 10 * options.lambda);
      EXPECT_EQ(update.next_mu, update.mu);
      const int node = *graph.find(update.layer);
      const bool dense = graph.node(node).layer->kind() == LayerKind::dense;
      EXPECT_EQ(update.form, dense && free_layer_count(graph, node) > 0 ? "factored" : "labels");
    }
    for (float w : graph.parameters()) EXPECT_TRUE(std::isfinite(w));
  }
}

// Too little memory for the slopes of the full space: the automatic search falls back, the explicit wish is
// an error.
TEST(Refiner, LittleMemoryNarrowsTheAutomaticSearch) {
  const VectorSource train = clusters(60, 2);
  const Loss loss = zero_one_loss();
  Graph graph = chain_net(2);
  RefineOptions options = small_options();
  options.memory = 1000;
  options.passes = 1;
  Watcher watcher(graph, train, loss, options);
  Refiner(graph, train, nullptr, loss, options, Threads(2)).run(watcher);
  for (const LayerUpdate& update : watcher.updates) EXPECT_NE(update.form, "factored");
  options.search = Search::full;
  Refiner full(graph, train, nullptr, loss, options, Threads(2));
  RefineObserver nobody;
  EXPECT_THROW(full.run(nobody), Error);
}

TEST(Refiner, PaperModeRegularisesAllLayersAroundZero) {
  Graph graph = chain_net(1);
  RefineOptions options = small_options();
  options.layers = {refinable_layers(graph).back()};
  const double opened = make_regulariser(graph, options).value(graph.parameters());
  options.mode = RefineMode::paper;
  const double all = make_regulariser(graph, options).value(graph.parameters());
  EXPECT_LT(opened, all);
  EXPECT_EQ(all, Regulariser(graph, options.lambda).value(graph.parameters()));
  options.centre = graph.parameters();
  EXPECT_THROW(options.validate(), Error);
}

std::string message_of(Graph& graph, const SampleSource& train, const Loss& loss,
                       const RefineOptions& options) {
  try {
    Refiner(graph, train, nullptr, loss, options, Threads(1));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Refiner, RefusesBadInput) {
  Graph graph = chain_net(1);
  const VectorSource train = clusters(10, 1);
  const Loss loss = zero_one_loss();
  const auto with = [](auto change) {
    RefineOptions options;
    change(options);
    return options;
  };
  EXPECT_EQ(message_of(graph, train, loss, {}), "no error");
  EXPECT_THAT(message_of(graph, train, loss, with([](auto& o) { o.lambda = 0; })), HasSubstr("lambda"));
  EXPECT_THAT(message_of(graph, train, loss, with([](auto& o) { o.lambda = std::nan(""); })),
              HasSubstr("lambda"));
  EXPECT_THAT(message_of(graph, train, loss, with([](auto& o) { o.mu = -1; })), HasSubstr("mu"));
  EXPECT_THAT(message_of(graph, train, loss, with([](auto& o) { o.gap = 1.5; })), HasSubstr("gap"));
  EXPECT_THAT(message_of(graph, train, loss, with([](auto& o) { o.max_epochs = 0; })), HasSubstr("epochs"));
  EXPECT_THAT(message_of(graph, train, loss, with([](auto& o) { o.batch = 0; })), HasSubstr("batch"));
  EXPECT_THAT(message_of(graph, train, loss, with([&](auto& o) { o.layers = {*graph.find("relu1")}; })),
              HasSubstr("'relu1'"));
  EXPECT_THAT(message_of(graph, train, Loss(LossKind::hinge, MarginMatrix(7)), {}), HasSubstr("7 classes"));
  const VectorSource strange(element_count(image), std::vector<float>(at(element_count(image))), {4});
  EXPECT_THAT(message_of(graph, strange, loss, {}), HasSubstr("label 4"));
  graph.parameters()[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message_of(graph, train, loss, {}), HasSubstr("not numbers"));
}

// Weights that make activations, inner products or scores overflow: the moves are rejected, or the network is
// refused; it is never left with something that is not a number.
TEST(Refiner, SurvivesNetworksWhoseNumbersOverflow) {
  int ran = 0, refused = 0, rejected = 0;
  const std::vector<double> scales{1e8, 1e37, 1e20, 1e30};
  for (const NamedNet& net : all_nets())
    for (const double scale : std::span(scales).first(at(repetitions(4, 2))))
      for (const Moves moves : kAllMoves)
        for (const RefineMode mode : {RefineMode::standard, RefineMode::paper}) {
          if (mode == RefineMode::paper && moves != Moves::layers) continue;
          SCOPED_TRACE(testing::Message() << net.name << ", " << scale << ", " << static_cast<int>(moves));
          Graph graph = net.make(20);
          std::vector<int> scaled = refinable_layers(graph);
          if (scale < 1e37) scaled.resize(1);  // else all, and no score is finite
          for (int node : scaled) {
            const ParameterRange range = graph.node(node).trained;
            for (std::int64_t i = range.begin; i < range.end(); ++i)
              graph.parameters()[at(i)] *= static_cast<float>(scale);
          }
          const VectorSource train = clusters(40, 1), validation = clusters(20, 101);
          const Loss loss = zero_one_loss();
          RefineOptions options = small_options(1e-3, moves);
          options.mode = mode;
          options.max_epochs = 2;
          options.passes = 1;
          RefineObserver observer;
          Refiner refiner(graph, train, &validation, loss, options, Threads(2));
          try {
            refiner.run(observer);
          } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("not a finite number"));
            ++refused;
            continue;
          }
          refiner.keep_chosen();
          ++ran;
          rejected += refiner.rejected();
          if (mode == RefineMode::standard) {
            EXPECT_EQ(refiner.rises(), 0);
          }
          EXPECT_TRUE(std::isfinite(refiner.current().objective));
          for (float w : graph.parameters()) ASSERT_TRUE(std::isfinite(w));
        }
  EXPECT_GT(ran, repetitions(20, 10));
  EXPECT_GT(refused, repetitions(5, 2));
  EXPECT_GT(rejected, repetitions(5, 2));
}

}  // namespace
}  // namespace lwsvm
