#include "run/refine_choices.h"

#include <gtest/gtest.h>

#include "model/arch.h"

namespace lwsvm::run {
namespace {

TEST(UsualPasses, AreTenOrAsManyAsFewSamplesNeed) {
  const Graph graph = build_network("dense64-relu", Shape{40, 1, 1}, 5, {0}, {1}, 0);
  EXPECT_EQ(usual_passes(graph, {}, 60'000), 10);
  EXPECT_EQ(usual_passes(graph, {}, 50'000), 10);
  EXPECT_EQ(usual_passes(graph, {}, 5'000), 100);
  EXPECT_EQ(usual_passes(graph, {}, 3), 166'667);
}

TEST(UsualPasses, AreFewerWhereAPassIsMuchWork) {
  const Graph large = build_network("conv256x5-relu-conv256x5-relu", Shape{3, 64, 64}, 5, {0}, {1}, 0);
  EXPECT_LT(usual_passes(large, {}, 500), 100);
  EXPECT_GE(usual_passes(large, {}, 500), 10);
}

TEST(UsualPasses, OfLayersInTurnAreTen) {
  const Graph graph = build_network("dense64-relu", Shape{40, 1, 1}, 5, {0}, {1}, 0);
  RefineOptions layers, paper;
  layers.moves = Moves::layers;
  paper.mode = RefineMode::paper;
  EXPECT_EQ(usual_passes(graph, layers, 1'000), 10);
  EXPECT_EQ(usual_passes(graph, paper, 1'000), 10);
}

}  // namespace
}  // namespace lwsvm::run
