#include "lwsvm/best_network.h"

#include <gtest/gtest.h>

#include <vector>

namespace lwsvm {
namespace {

constexpr std::int64_t kMany = 5000, kFew = 200;

NetworkQuality network(double objective, double val_accuracy, double val_loss = 1) {
  return {objective, objective, 0.9, val_accuracy, val_loss};
}

// Considers the networks in turn, the first one as the start; which is kept.
int kept_of(std::int64_t validation_samples, const std::vector<NetworkQuality>& networks,
            bool most_accurate = false) {
  BestNetwork best(validation_samples, most_accurate);
  best.begin(networks[0], std::vector<float>{0});
  for (std::size_t i = 1; i < networks.size(); ++i)
    best.consider(networks[i], std::vector<float>{static_cast<float>(i)}, static_cast<int>(i));
  EXPECT_EQ(best.parameters(), std::vector<float>{static_cast<float>(best.move())});
  EXPECT_EQ(best.quality().objective, networks[static_cast<std::size_t>(best.move())].objective);
  return best.move();
}

// Of 5,000 samples half a standard error at 90% is 0.2%.
TEST(BestNetwork, IsTheOneWithTheLowestObjectiveOfThoseThatValidationCannotTellApart) {
  EXPECT_EQ(kept_of(kMany, {network(1, 0.85), network(0.5, 0.900), network(0.4, 0.899), network(0.6, 0.899)}),
            2);
  EXPECT_EQ(kept_of(kMany, {network(1, 0.85), network(0.5, 0.900), network(0.4, 0.897)}), 1);
}

// Whatever was kept when others were less accurate.
TEST(BestNetwork, IsNoneThatAMuchMoreAccurateOneHasLeftBehind) {
  EXPECT_EQ(kept_of(kMany, {network(1, 0.85), network(0.4, 0.88), network(0.5, 0.90)}), 2);
}

TEST(BestNetwork, IsNeverLessAccurateThanTheStart) {
  EXPECT_EQ(kept_of(kMany, {network(1, 0.9), network(0.1, 0.8995)}), 0);
  EXPECT_EQ(kept_of(kMany, {network(1, 0.9), network(0.1, 0.9)}), 1);
}

TEST(BestNetwork, OfFewSamplesIsTheOneWithTheLowestLoss) {
  EXPECT_EQ(kept_of(kFew, {network(1, 0.8, 0.9), network(0.1, 0.9, 0.7), network(0.2, 0.7, 0.6)}), 2);
}

TEST(BestNetwork, WithoutAValidationPartIsTheOneWithTheLowestObjective) {
  EXPECT_EQ(kept_of(0, {network(1, -1), network(0.3, -1), network(0.4, -1)}), 1);
}

TEST(BestNetwork, InThePapersPassesIsTheMostAccurateOneTiesByLoss) {
  EXPECT_EQ(kept_of(kMany, {network(1, 0.85), network(0.5, 0.900), network(0.4, 0.899)}, true), 1);
  EXPECT_EQ(kept_of(kMany, {network(1, 0.9, 0.5), network(2, 0.9, 0.4), network(0.1, 0.9, 0.6)}, true), 1);
}

TEST(BestNetwork, TellsWhetherOneIsTheMostAccurateSoFar) {
  BestNetwork best(kMany, false);
  best.begin(network(1, 0.85), std::vector<float>{0});
  EXPECT_TRUE(best.consider(network(0.9, 0.86), std::vector<float>{1}, 1));
  EXPECT_FALSE(best.consider(network(0.1, 0.8599), std::vector<float>{2}, 2));
  EXPECT_EQ(best.move(), 2);  // kept all the same
}

TEST(BestNetwork, ClearlyBetterIsAStandardErrorOrATenthOfTheLoss) {
  const BestNetwork many(kMany, false), few(kFew, false);
  EXPECT_TRUE(many.is_clearly_better(network(1, 0.905), network(1, 0.9)));
  EXPECT_FALSE(many.is_clearly_better(network(1, 0.904), network(1, 0.9)));
  EXPECT_TRUE(few.is_clearly_better(network(1, 0.8, 0.89), network(1, 0.9, 1)));
  EXPECT_FALSE(few.is_clearly_better(network(1, 0.99, 0.91), network(1, 0.9, 1)));
}

TEST(BestNetwork, ComesBackFromACheckpoint) {
  BestNetwork best(kMany, false), again(kMany, false);
  best.begin(network(1, 0.85), std::vector<float>{1, 2});
  best.consider(network(0.5, 0.9), std::vector<float>{3, 4}, 1);
  best.consider(network(0.4, 0.899), std::vector<float>{5, 6}, 2);
  Checkpoint checkpoint;
  best.save(checkpoint);
  again.restore(checkpoint, best.move());
  EXPECT_EQ(again.parameters(), (std::vector<float>{5, 6}));
  EXPECT_EQ(again.start_parameters(), (std::vector<float>{1, 2}));
  // The most accurate one is known, too: the same is kept of what comes next.
  for (BestNetwork* network_of : {&best, &again}) {
    network_of->consider(network(0.3, 0.8975), std::vector<float>{7, 8}, 3);
    EXPECT_EQ(network_of->move(), 2);
  }
}

}  // namespace
}  // namespace lwsvm
