// Random crops: the pixels say where in the photo they were cut out.
#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "data/files.h"
#include "data/made_photos.h"
#include "data/photo.h"

namespace lwsvm {
namespace {

using namespace lwsvm::test;

// Red grows from left to right and green from top to bottom, each from 0 to 250, so that values are places.
std::string ramps(int width, int height) {
  std::string pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      pixels += static_cast<char>(std::lround(250 * (x + 0.5) / width));
      pixels += static_cast<char>(std::lround(250 * (y + 0.5) / height));
      pixels += '\0';
    }
  return png_of(width, height, pixels);
}

struct Box {
  double left = 0, right = 0, top = 0, bottom = 0;  // parts of the photo's sides
  bool mirrored = false;
};

// Extrapolated from the middles of the crop's outer pixels to its edges, which makes it good to about 0.01.
Box place_of(const std::vector<std::uint8_t>& sample, int height, int width) {
  const auto at = [&](int channel, int y, int x) {
    return sample[static_cast<std::size_t>((channel * height + y) * width + x)] / 250.0;
  };
  const double half_x = (at(0, 0, width - 3) - at(0, 0, 2)) / (width - 5) / 2;
  const double half_y = (at(1, height - 3, 0) - at(1, 2, 0)) / (height - 5) / 2;
  Box box{at(0, 0, 2) - 5 * half_x, at(0, 0, width - 3) + 5 * half_x, at(1, 2, 0) - 5 * half_y,
          at(1, height - 3, 0) + 5 * half_y};
  box.mirrored = half_x < 0;
  if (box.mirrored) std::swap(box.left, box.right);
  return box;
}

TEST(RandomCrop, IsAPartOfThePhotoOfTheRightSizeAndShape) {
  constexpr int width = 300, height = 200, drawings = 60;
  const std::string png = ramps(width, height);
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(png.data()), png.size());
  PhotoGeometry geometry{3, 60, 80, 90};
  int mirrored = 0;
  std::set<std::vector<std::uint8_t>> different;
  for (geometry.drawing = 1; geometry.drawing <= drawings; ++geometry.drawing) {
    std::vector<std::uint8_t> sample(3 * 60 * 80), again(sample.size());
    photo_sample("ramps.png", bytes, geometry, sample.data());
    photo_sample("elsewhere.png", bytes, geometry, again.data());
    EXPECT_EQ(sample, again);
    different.insert(sample);
    const Box box = place_of(sample, 60, 80);
    constexpr double rounding = 0.012;
    EXPECT_GT(box.left, -rounding);
    EXPECT_LT(box.right, 1 + rounding);
    EXPECT_GT(box.top, -rounding);
    EXPECT_LT(box.bottom, 1 + rounding);
    const double w = box.right - box.left, h = box.bottom - box.top;
    EXPECT_GT(w * h, 0.25 - 0.03);
    const double ratio = w * width / (h * height) / (80.0 / 60);
    EXPECT_GT(ratio, 3.0 / 4 - 0.03);
    EXPECT_LT(ratio, 4.0 / 3 + 0.05);
    mirrored += box.mirrored;
  }
  EXPECT_EQ(different.size(), static_cast<std::size_t>(drawings));
  EXPECT_GT(mirrored, drawings / 4);
  EXPECT_LT(mirrored, 3 * drawings / 4);
}

TEST(RandomCrop, OfAVeryLongPhotoIsTheLargestInItsMiddle) {
  const std::string png = ramps(1000, 50);
  PhotoGeometry geometry{3, 40, 40, 45, 1};
  std::vector<std::uint8_t> sample(3 * 40 * 40);
  photo_sample("long.png", {reinterpret_cast<const std::uint8_t*>(png.data()), png.size()}, geometry,
               sample.data());
  const Box box = place_of(sample, 40, 40);
  EXPECT_NEAR(box.left, 0.475, 0.012);
  EXPECT_NEAR(box.right, 0.525, 0.012);
  EXPECT_NEAR(box.top, 0, 0.012);
  EXPECT_NEAR(box.bottom, 1, 0.012);
}

}  // namespace
}  // namespace lwsvm
