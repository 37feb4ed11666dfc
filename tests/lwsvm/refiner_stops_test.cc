// Refinements that are stopped, saved and go on, or run out of time.
#include <span>

#include "base/error.h"
#include "refinements.h"
#include "repetitions.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

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
  for (const NamedNet& net : std::span(all_nets()).first(at(repetitions(5, 2)))) {
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

}  // namespace
}  // namespace lwsvm
