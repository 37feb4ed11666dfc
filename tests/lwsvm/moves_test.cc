#include "lwsvm/moves.h"

#include <gtest/gtest.h>

#include <vector>

namespace lwsvm {
namespace {

constexpr std::size_t kSvmLayer = 1;

TEST(MoveChooser, BeginsWithASweepThenTheSvmLayer) {
  MoveChooser chooser(3);
  EXPECT_EQ(chooser.next(), MoveChooser::kSweep);
  chooser.count(MoveChooser::kSweep, 1, 1);
  EXPECT_EQ(chooser.next(), kSvmLayer);
}

TEST(MoveChooser, TakesWhatGainsMoreForItsWork) {
  MoveChooser chooser(1);
  chooser.count(kSvmLayer, 1, 10);
  chooser.count(MoveChooser::kSweep, 50, 100);
  EXPECT_EQ(chooser.next(), MoveChooser::kSweep);
  chooser.count(MoveChooser::kSweep, 1, 100);
  EXPECT_EQ(chooser.next(), kSvmLayer);
}

// While sweeps gain steadily, a layer is tried at times; when they have stopped gaining, always.
TEST(MoveChooser, TriesEveryMoveNowAndThenAndTurnsToLayersInTheEnd) {
  MoveChooser chooser(4);
  std::vector<int> taken(5, 0);
  double sweep_gain = 1;
  for (int move = 0; move < 400; ++move) {
    const std::size_t next = chooser.next();
    ++taken.at(next);
    chooser.count(next, next == MoveChooser::kSweep ? sweep_gain : 0.01, 1);
    if (next == MoveChooser::kSweep && taken[0] > 100) sweep_gain = 0;
  }
  for (int times : taken) EXPECT_GT(times, 3);
  EXPECT_GT(taken[0], 100);
}

TEST(MoveChooser, ALayerIsNotOpenedTwiceInARow) {
  MoveChooser chooser(2);
  chooser.count(MoveChooser::kSweep, 1, 1);
  chooser.count(kSvmLayer, 100, 1);
  EXPECT_NE(chooser.next(), kSvmLayer);
}

TEST(MoveChooser, ARejectedSweepIsTriedAgain) {
  MoveChooser chooser(2);
  chooser.count(kSvmLayer, 0.1, 1);
  chooser.count(MoveChooser::kSweep, 1, 1);
  chooser.count(MoveChooser::kSweep, 0, 1);
  EXPECT_EQ(chooser.next(), MoveChooser::kSweep);
}

TEST(MoveChooser, GivesEveryLayerItsTurnFirstIfAskedTo) {
  MoveChooser chooser(3);
  for (int time = 0; time < 2; ++time) {
    chooser.count(MoveChooser::kSweep, 1, 1);
    for (std::size_t layer = 1; layer <= 3; ++layer) {
      EXPECT_EQ(chooser.next(true), layer);
      chooser.count(layer, 1e-6, 1);
    }
    EXPECT_EQ(chooser.next(true), MoveChooser::kSweep);
  }
}

TEST(MoveChooser, RestoredGoesOnAlike) {
  MoveChooser chooser(3), other(3);
  for (int move = 0; move < 20; ++move) {
    const std::size_t next = chooser.next();
    chooser.count(next, 1.0 / (move + 1 + static_cast<double>(next)), 1 + static_cast<double>(next));
  }
  other.restore(chooser.save());
  for (int move = 0; move < 20; ++move) {
    ASSERT_EQ(chooser.next(), other.next());
    chooser.count(chooser.next(), 0.3, 2);
    other.count(other.next(), 0.3, 2);
  }
}

}  // namespace
}  // namespace lwsvm
