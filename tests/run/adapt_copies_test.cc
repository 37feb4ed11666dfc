// Copies of photos that nobody asked for: when they are made, and what may come of them.
#include "run/adapt_copies.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace lwsvm::run {
namespace {

DataSet photos(std::size_t count) {
  DataSet data;
  data.photos = "resize=8 crop=8x8";
  data.train =
      Samples(ImageShape{1, 1, 1}, std::vector<std::uint8_t>(count), std::vector<std::int32_t>(count));
  return data;
}

TEST(AdaptCopies, AreMadeOfFewPhotosWhereNobodyHasSaidOtherwise) {
  AdaptJob job;
  const auto words = [&](Depth depth, const DataSet& data, double seconds = 0, bool crops = true) {
    const Copies copies = choose_copies(job, depth, data, 1e9, seconds, 2, crops);
    EXPECT_EQ(copies.asked_for, copies.words.empty() || copies.words == job.task.augment);
    return copies.words;
  };
  EXPECT_EQ(words(Depth::automatic, photos(400)), "flip,crop4");
  EXPECT_EQ(words(Depth::automatic, photos(400), 0, false), "flip");
  EXPECT_EQ(words(Depth::head, photos(400)), "");
  EXPECT_EQ(words(Depth::automatic, photos(50000)), "");
  EXPECT_EQ(words(Depth::automatic, photos(400), 1e-3), "") << "there is no time for them";
  EXPECT_EQ(words(Depth::automatic, photos(400), 1e6), "flip,crop4");
  DataSet no_photos = photos(400);
  no_photos.photos.clear();
  EXPECT_EQ(words(Depth::automatic, no_photos), "");
  for (const char* asked : {"none", "flip", "crop2"}) {
    job.task.augment = asked;
    EXPECT_EQ(words(Depth::automatic, photos(400)), asked);
  }
}

// Coins that are tossed for each photo that the two networks disagree about.
TEST(AdaptCopies, AreSeldomKeptByChance) {
  EXPECT_FALSE(is_beyond_doubt(0, 0));
  EXPECT_TRUE(is_beyond_doubt(5, 0));
  EXPECT_FALSE(is_beyond_doubt(0, 5));
  Random random(1);
  constexpr int rounds = 20000, photos = 30;
  int kept = 0;
  for (int round = 0; round < rounds; ++round) {
    int won = 0;
    for (int i = 0; i < photos; ++i) won += random.uniform() < 0.5;
    kept += is_beyond_doubt(won, photos - won);
  }
  EXPECT_LT(kept, 0.035 * rounds);
  EXPECT_GT(kept, 0.01 * rounds);
}

}  // namespace
}  // namespace lwsvm::run
