// Refinements whose regulariser pulls to the start, or elsewhere, instead of to zero.
#include "refinements.h"

namespace lwsvm {
namespace {

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

}  // namespace
}  // namespace lwsvm
