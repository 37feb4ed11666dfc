#include "data/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/sample_view.h"

namespace lwsvm {
namespace {

using testing::ElementsAre;

Samples one_image() {  // 2 channels of 2x3: 0..5 and 100..105
  return {
      ImageShape{2, 2, 3}, std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 100, 101, 102, 103, 104, 105}, {7}};
}

std::vector<float> read(const Feed& feed) {
  const Samples samples = one_image();
  const SampleView view(samples);
  const FedSource source(view, feed);
  EXPECT_EQ(source.size(), 1);
  EXPECT_EQ(source.label(0), 7);
  std::vector<float> image(12);
  source.read(0, image.data());
  return image;
}

TEST(Feed, GivesSamplesAsTheyAreStoredUnlessTold) {
  EXPECT_THAT(read({{2, 2, 3}, {}, false}), ElementsAre(0, 1, 2, 3, 4, 5, 100, 101, 102, 103, 104, 105));
}

TEST(Feed, PutsChannelsLast) {
  EXPECT_THAT(read({{2, 2, 3}, {}, true}), ElementsAre(0, 100, 1, 101, 2, 102, 3, 103, 4, 104, 5, 105));
}

TEST(Feed, NormalisesByChannelBeforeItReorders) {
  EXPECT_THAT(read({{2, 2, 3}, Normalization{{0, 100}, {1, 2}}, true}),
              ElementsAre(0, 0, 1, 0.5, 2, 1, 3, 1.5, 4, 2, 5, 2.5));
}

TEST(Feed, SuitsNetworksByTheShapeOfTheirInput) {
  Feed feed{{3, 32, 32}, {}, false};
  EXPECT_TRUE(suit(feed, {32, 32, 3}));
  EXPECT_TRUE(feed.channels_last);
  EXPECT_TRUE(suit(feed, {3, 32, 32}));
  EXPECT_FALSE(feed.channels_last);
  EXPECT_TRUE(suit(feed, {3072}));
  EXPECT_FALSE(feed.channels_last);
  for (const std::vector<std::int64_t>& other :
       {std::vector<std::int64_t>{32, 3, 32}, {3, 1024}, {1, 3, 32, 32}, {3073}, {}})
    EXPECT_FALSE(suit(feed, other));
}

}  // namespace
}  // namespace lwsvm
