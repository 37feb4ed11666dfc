// Whole refinements of small networks.
#include "lwsvm/refiner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "base/error.h"
#include "decomposed.h"
#include "networks.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

using testing::HasSubstr;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

Loss zero_one_loss() {
  return Loss(LossKind::hinge, MarginMatrix(classes));
}

// Watches every update: what it says against what happened to the network.
class Watcher : public RefineObserver {
 public:
  Watcher(const Graph& graph, const SampleSource& train, const Loss& loss, const RefineOptions& options)
      : graph_(graph),
        train_(train),
        loss_(loss),
        regulariser_(make_regulariser(graph, options)),
        threads_(2),
        evaluator_(graph, threads_) {}

  void on_open(int /*pass*/, const std::string& /*layer*/) override { opened_ = graph_.parameters(); }

  void on_update(const LayerUpdate& update) override {
    SCOPED_TRACE(update.layer + ", " + update.form);
    const std::vector<float>& now = graph_.parameters();
    const bool sweep = update.form == "sweep";  // which may change every layer
    const ParameterRange range =
        sweep ? ParameterRange{0, std::ssize(now)} : graph_.node(*graph_.find(update.layer)).trained;
    if (update.accepted) {
      EXPECT_LT(update.after, update.before);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(now.size()); ++i)
        if (i < range.begin || i >= range.end()) {
          ASSERT_EQ(now[at(i)], opened_[at(i)]) << "another layer was changed";
        }
    } else {
      EXPECT_TRUE(same_bits(now, opened_)) << "a rejected update left something behind";
      EXPECT_EQ(update.after, update.before);
    }
    EXPECT_EQ(update.after, evaluator_.objective(evaluator_.evaluate(train_, loss_), regulariser_));
    if (!updates.empty()) {
      EXPECT_EQ(update.before, updates.back().after);
    }
    EXPECT_GE(update.gap, -1e-5 * (1 + std::abs(update.primal)));
    updates.push_back(update);
    after_updates.push_back(now);
  }
  void on_pass(int pass, const NetworkQuality& quality) override {
    EXPECT_EQ(pass, static_cast<int>(passes.size()) + 1);
    passes.push_back(quality);
  }

  std::vector<LayerUpdate> updates;
  std::vector<std::vector<float>> after_updates;  // the parameters
  std::vector<NetworkQuality> passes;

 private:
  const Graph& graph_;
  const SampleSource& train_;
  const Loss& loss_;
  Regulariser regulariser_;
  Threads threads_;
  Evaluator evaluator_;
  std::vector<float> opened_;
};

constexpr Moves kAllMoves[] = {Moves::layers, Moves::sweeps, Moves::automatic};

RefineOptions small_options(double lambda = 1e-3, Moves moves = Moves::layers) {
  RefineOptions options;
  options.lambda = lambda;
  options.moves = moves;
  options.passes = 2;
  options.max_epochs = 6;
  options.batch = 20;
  return options;
}

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

// Saves at the k-th safe point and asks to stop there.
class Saver final : public RefineObserver {
 public:
  Saver(int when, std::filesystem::path path) : when_(when), path_(std::move(path)) {}
  void attach(Refiner& refiner) { refiner_ = &refiner; }
  void on_safe_point() override {
    if (++seen != when_) return;
    Checkpoint checkpoint;
    refiner_->save(checkpoint);
    checkpoint.save(path_);
  }
  bool stop_requested() override { return when_ > 0 && seen >= when_; }
  int seen = 0;

 private:
  int when_;
  std::filesystem::path path_;
  Refiner* refiner_ = nullptr;
};

void expect_resumes(const NamedNet& net, Search search, RefineMode mode, double lambda,
                    Moves moves = Moves::layers) {
  SCOPED_TRACE(net.name);
  const VectorSource train = clusters(60, 1), validation = clusters(30, 2);
  const Loss loss = zero_one_loss();
  RefineOptions options = small_options(lambda, moves);
  options.search = search;
  options.mode = mode;
  options.max_epochs = 3;
  const TemporaryFolder folder;
  Graph whole = net.make(3);
  Refiner uninterrupted(whole, train, &validation, loss, options, Threads(2));
  Saver counter(0, {});
  counter.attach(uninterrupted);
  const RefineEnd end = uninterrupted.run(counter);
  const std::vector<float> last = whole.parameters();
  uninterrupted.keep_chosen();
  Random random(4, 82);
  for (int round = 0; round < repetitions(5, 2); ++round) {
    const int when = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(counter.seen)));
    SCOPED_TRACE("safe point " + std::to_string(when) + " of " + std::to_string(counter.seen));
    const auto path = folder / ("checkpoint" + std::to_string(round));
    {
      Graph graph = net.make(3);
      Refiner killed(graph, train, &validation, loss, options, Threads(2));
      Saver saver(when, path);
      saver.attach(killed);
      killed.run(saver);
    }
    Graph graph = net.make(3);
    Refiner resumed(graph, train, &validation, loss, options, Threads(round % 2 ? 1 : 2));
    resumed.restore(Checkpoint::load(path));
    RefineObserver nobody;
    EXPECT_EQ(resumed.run(nobody), end);
    EXPECT_TRUE(same_bits(graph.parameters(), last));
    resumed.keep_chosen();
    EXPECT_TRUE(same_bits(graph.parameters(), whole.parameters()));
    EXPECT_EQ(resumed.pass(), uninterrupted.pass());
    EXPECT_EQ(resumed.best_move(), uninterrupted.best_move());
    EXPECT_EQ(resumed.updates(), uninterrupted.updates());
    EXPECT_EQ(resumed.rejected(), uninterrupted.rejected());
    EXPECT_EQ(resumed.start().objective, uninterrupted.start().objective);
  }
}

TEST(Refiner, ResumesAtRandomSafePointsToTheSameBits) {
  for (const NamedNet& net : all_nets()) {
    expect_resumes(net, Search::automatic, RefineMode::standard, 1e-3);
    expect_resumes(net, Search::full, RefineMode::standard, 1e-5);
    expect_resumes(net, Search::automatic, RefineMode::standard, 1e-4, Moves::sweeps);
    expect_resumes(net, Search::automatic, RefineMode::standard, 1e-4, Moves::automatic);
  }
  expect_resumes(all_nets()[0], Search::automatic, RefineMode::paper, 1e-3);
}

// A stop is not the end: what is saved after run() has returned goes on as well.
TEST(Refiner, CanBeSavedAfterAStop) {
  const VectorSource train = clusters(60, 1);
  const Loss loss = zero_one_loss();
  const RefineOptions options = small_options();
  Graph whole = chain_net(3);
  Refiner uninterrupted(whole, train, nullptr, loss, options, Threads(2));
  RefineObserver nobody;
  uninterrupted.run(nobody);
  const TemporaryFolder folder;
  {
    Graph graph = chain_net(3);
    Refiner stopped(graph, train, nullptr, loss, options, Threads(2));
    Saver saver(9, folder / "ignored");
    saver.attach(stopped);
    EXPECT_EQ(stopped.run(saver), RefineEnd::stopped);
    Checkpoint checkpoint;
    stopped.save(checkpoint);
    checkpoint.save(folder / "late");
  }
  Graph graph = chain_net(3);
  Refiner resumed(graph, train, nullptr, loss, options, Threads(2));
  resumed.restore(Checkpoint::load(folder / "late"));
  resumed.run(nobody);
  EXPECT_TRUE(same_bits(graph.parameters(), whole.parameters()));
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

// The time is up in the middle of a move: what is under way is judged, and nothing is lost or left half done.
TEST(Refiner, OutOfTimeInAMoveKeepsItIfItIsBetter) {
  struct Clock final : RefineObserver {
    explicit Clock(int calls) : left(calls) {}
    void on_update(const LayerUpdate& update) override { updates.push_back(update); }
    double seconds_left() override { return --left; }
    int left;
    std::vector<LayerUpdate> updates;
  };
  int cut = 0;
  for (Moves moves : kAllMoves)
    for (int ticks : {3, 5, 9, 14}) {
      Graph graph = chain_net(3);
      const VectorSource train = clusters(250, 1), validation = clusters(30, 2);
      const Loss loss = zero_one_loss();
      Refiner refiner(graph, train, &validation, loss, small_options(1e-4, moves), Threads(2));
      Clock clock(ticks);
      const RefineEnd end = refiner.run(clock);
      EXPECT_TRUE(end == RefineEnd::out_of_time || end == RefineEnd::passes_done);
      EXPECT_EQ(refiner.rises(), 0);
      for (const LayerUpdate& update : clock.updates) {
        cut += update.reason.find("time is up") != std::string::npos;
        EXPECT_LE(update.after, update.before);
      }
      const Threads threads(1);
      Evaluator evaluator(graph, threads);
      const double objective = evaluator.objective(evaluator.evaluate(train, loss), refiner.regulariser());
      EXPECT_EQ(objective, refiner.current().objective);
    }
  EXPECT_GT(cut, 0) << "no move was cut: nothing was tested";
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

// Centres to be tested: the network itself, and somewhere else.
std::vector<std::vector<float>> centres(const Graph& graph, std::uint64_t seed) {
  std::vector<float> elsewhere = graph.parameters();
  Random random(seed, 83);
  for (float& x : elsewhere) x += static_cast<float>(0.1 * random.normal());
  return {graph.parameters(), elsewhere};
}

TEST(CentredRefiner, ObjectiveFallsAtEveryAcceptedUpdate) {
  int accepted = 0, runs = 0;
  for (const NamedNet& net : all_nets())
    for (double lambda : {1e-1, 1e-3})
      for (int which : {0, 1}) {
        SCOPED_TRACE(net.name + ", lambda " + std::to_string(lambda) + ", centre " + std::to_string(which));
        Graph graph = net.make(21);
        const VectorSource train = clusters(70, 1), validation = clusters(40, 101);
        const Loss loss = zero_one_loss();
        RefineOptions options = small_options(lambda);
        options.centre = centres(graph, 1)[static_cast<std::size_t>(which)];
        Watcher watcher(graph, train, loss, options);
        Refiner refiner(graph, train, &validation, loss, options, Threads(2));
        refiner.run(watcher);
        EXPECT_EQ(refiner.rises(), 0);
        accepted += refiner.updates() - refiner.rejected();
        ++runs;
        if (HasFailure()) return;
      }
  EXPECT_GT(accepted, runs);
}

TEST(CentredRefiner, AtTheStartTheObjectiveIsTheLossAlone) {
  for (const NamedNet& net : all_nets()) {
    Graph graph = net.make(4);
    const VectorSource train = clusters(50, 4);
    const Loss loss = zero_one_loss();
    RefineOptions options = small_options(0.5);
    options.centre = graph.parameters();
    options.passes = 0;
    Refiner refiner(graph, train, nullptr, loss, options, Threads(2));
    RefineObserver nobody;
    refiner.run(nobody);
    EXPECT_EQ(refiner.start().objective, refiner.start().train_loss) << net.name;
  }
}

TEST(CentredRefiner, AHugeLambdaKeepsTheNetwork) {
  for (const NamedNet& net : all_nets()) {
    Graph graph = net.make(5);
    const std::vector<float> before = graph.parameters();
    const VectorSource train = clusters(50, 5);
    const Loss loss = zero_one_loss();
    RefineOptions options = small_options(1e8);
    options.centre = before;
    options.keep = Keep::last;
    Refiner refiner(graph, train, nullptr, loss, options, Threads(2));
    RefineObserver nobody;
    refiner.run(nobody);
    for (std::size_t i = 0; i < before.size(); ++i)
      ASSERT_NEAR(graph.parameters()[i], before[i], 1e-5) << net.name;
  }
}

TEST(CentredRefiner, ModelOfTheSvmLayerIsExact) {
  for (const NamedNet& net : all_nets())
    for (int which : {0, 1}) {
      SCOPED_TRACE(net.name);
      Graph graph = net.make(6);
      const VectorSource train = clusters(60, 6);
      const Loss loss = zero_one_loss();
      RefineOptions options = small_options(1e-2);
      options.layers = {refinable_layers(graph).back()};
      options.centre = centres(graph, 2)[static_cast<std::size_t>(which)];
      options.max_epochs = 20;
      options.passes = 1;
      Watcher watcher(graph, train, loss, options);
      Refiner refiner(graph, train, nullptr, loss, options, Threads(2));
      refiner.run(watcher);
      ASSERT_EQ(watcher.updates.size(), 1u);
      EXPECT_TRUE(watcher.updates[0].accepted);
      EXPECT_NEAR(watcher.updates[0].predicted, watcher.updates[0].actual, 3e-6 * watcher.updates[0].before);
    }
}

// Of the centre the checkpoint alone knows: the network has moved since.
TEST(CentredRefiner, ResumesToTheSameBits) {
  const VectorSource train = clusters(60, 1), validation = clusters(30, 2);
  const Loss loss = zero_one_loss();
  const TemporaryFolder folder;
  for (const NamedNet& net : all_nets())
    for (int which : {0, 1}) {
      SCOPED_TRACE(net.name);
      Graph whole = net.make(3);
      RefineOptions options = small_options(1e-2);
      options.max_epochs = 3;
      options.centre = centres(whole, 3)[static_cast<std::size_t>(which)];
      Refiner uninterrupted(whole, train, &validation, loss, options, Threads(2));
      Saver counter(0, {});
      counter.attach(uninterrupted);
      uninterrupted.run(counter);
      for (int when : {1, counter.seen / 3, 2 * counter.seen / 3, counter.seen}) {
        const auto path = folder / "checkpoint";
        Graph graph = net.make(3);
        {
          Refiner killed(graph, train, &validation, loss, options, Threads(2));
          Saver saver(when, path);
          saver.attach(killed);
          killed.run(saver);
        }
        RefineOptions without = options;
        without.centre = {};
        Refiner resumed(graph, train, &validation, loss, without, Threads(1));
        resumed.restore(Checkpoint::load(path));
        RefineObserver nobody;
        resumed.run(nobody);
        EXPECT_TRUE(same_bits(graph.parameters(), whole.parameters())) << "safe point " << when;
        EXPECT_EQ(resumed.regulariser().centre(), uninterrupted.regulariser().centre());
      }
    }
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
  for (const NamedNet& net : all_nets())
    for (const double scale : {1e8, 1e20, 1e30, 1e37})
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
  EXPECT_GT(ran, 20);
  EXPECT_GT(refused, 5);
  EXPECT_GT(rejected, 5);
}

}  // namespace
}  // namespace lwsvm
