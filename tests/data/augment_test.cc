#include "data/augment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "base/random.h"

namespace lwsvm {
namespace {

const ImageShape kShape{2, 5, 7};

class Numbered final : public SampleSource {
 public:
  std::int64_t size() const override { return 3; }
  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index); }
  void read(std::int64_t index, float* target) const override {
    for (int i = 0; i < kShape.size(); ++i) target[i] = static_cast<float>(1000 * (index + 1) + i);
  }
};

// The definition, pixel by pixel: what is at (h, w) came from (h - down, w - right), mirrored if it flips.
float expected(const float* image, const ImageTransform& t, int c, int h, int w) {
  const int from_h = h - t.down;
  int from_w = w - t.right;
  if (from_h < 0 || from_h >= kShape.height || from_w < 0 || from_w >= kShape.width) return 0.0f;
  if (t.flip) from_w = kShape.width - 1 - from_w;
  return image[(c * kShape.height + from_h) * kShape.width + from_w];
}

TEST(Augment, EveryTransformMovesEveryPixelWhereItSays) {
  const Numbered original;
  const auto transforms = parse_augmentation("flip,shift2,shift4", kShape);
  ASSERT_EQ(transforms.size(), 10u);
  const AugmentedSource source(original, kShape, transforms);
  ASSERT_EQ(source.size(), 30);
  std::vector<float> image(static_cast<std::size_t>(kShape.size())), moved(image.size());
  for (std::int64_t s = 0; s < source.size(); ++s) {
    EXPECT_EQ(source.label(s), s % 3);
    original.read(s % 3, image.data());
    source.read(s, moved.data());
    const ImageTransform& t = transforms[static_cast<std::size_t>(s / 3)];
    for (int c = 0; c < kShape.channels; ++c)
      for (int h = 0; h < kShape.height; ++h)
        for (int w = 0; w < kShape.width; ++w)
          ASSERT_EQ(moved[static_cast<std::size_t>((c * kShape.height + h) * kShape.width + w)],
                    expected(image.data(), t, c, h, w))
              << "sample " << s << " at " << c << "," << h << "," << w;
  }
}

TEST(Augment, TheFirstCopyIsTheImageItself) {
  const auto transforms = parse_augmentation("", kShape);
  ASSERT_EQ(transforms.size(), 1u);
  EXPECT_FALSE(transforms[0].flip);
  EXPECT_EQ(transforms[0].down, 0);
  EXPECT_EQ(transforms[0].right, 0);
}

TEST(Augment, ARandomCropIsWhatWasCutOutOfThePhoto) {
  const Numbered original;
  class Cut final : public SampleSource {
   public:
    explicit Cut(int number) : number_(number) {}
    std::int64_t size() const override { return 3; }
    std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index); }
    void read(std::int64_t index, float* target) const override {
      std::fill_n(target, kShape.size(), static_cast<float>(10 * number_ + index));
    }

   private:
    int number_;
  };
  const Cut first(1), second(2);
  const auto transforms = parse_augmentation("crop2,flip", kShape);
  ASSERT_EQ(transforms.size(), 4u);
  EXPECT_EQ(crops_in("flip,crop2"), 2);
  EXPECT_EQ(crops_in("flip,shift3"), 0);
  const AugmentedSource source(original, kShape, transforms, {&first, &second});
  std::vector<float> image(static_cast<std::size_t>(kShape.size()));
  for (std::int64_t i = 0; i < 3; ++i) {
    source.read(3 + i, image.data());
    EXPECT_EQ(image, std::vector<float>(image.size(), static_cast<float>(10 + i)));
    source.read(6 + i, image.data());
    EXPECT_EQ(image, std::vector<float>(image.size(), static_cast<float>(20 + i)));
  }
}

TEST(Augment, RandomCropsOfWhatIsNoPhotoAreRefused) {
  DataSet data;
  data.name = "digits";
  data.shape = kShape;
  EXPECT_EQ(parse_augmentation("flip", data).size(), 2u);
  try {
    parse_augmentation("flip,crop2", data);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("digits"), std::string::npos) << error.what();
  }
}

TEST(Augment, NamesTheWordItDoesNotKnow) {
  for (const char* bad : {"flop", "shift", "shift0", "shift5", "shift99999", "flip,,shift2", "shift-1",
                          "crop", "crop0", "crop101", "crop2,flip,crop3"}) {
    try {
      parse_augmentation(bad, kShape);
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("[augment]"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace lwsvm
