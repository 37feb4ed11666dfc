#include "data/dataset.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lwsvm {
namespace {

constexpr ImageShape kTinyShape{1, 2, 2};

template <typename T>
Samples six() {
  std::vector<T> pixels(24);
  std::iota(pixels.begin(), pixels.end(), T{0});
  return {kTinyShape, pixels, {0, 1, 2, 0, 1, 2}};
}

template <typename T>
void expect_some_are_kept() {
  const Samples all = six<T>();
  for (const std::vector<std::int32_t>& some : {std::vector<std::int32_t>{4, 1, 5}, {0}, {}}) {
    const Samples kept = all.with_pixels_of(some);
    EXPECT_EQ(kept.labels(), all.labels());
    EXPECT_EQ(kept.holds_bytes(), all.holds_bytes());
    EXPECT_EQ(kept.sample_size(), all.sample_size());
    std::vector<float> expected(4), found(4);
    for (const std::int32_t sample : some) {
      all.read(static_cast<std::size_t>(sample), expected.data());
      kept.read(static_cast<std::size_t>(sample), found.data());
      EXPECT_EQ(found, expected) << sample;
    }
    EXPECT_DEATH(kept.read(2, found.data()), "");
  }
}

TEST(Samples, KeepThePixelsOfSomeOnly) {
  expect_some_are_kept<std::uint8_t>();
  expect_some_are_kept<float>();
  EXPECT_TRUE(Samples().with_pixels_of({}).empty());
}

}  // namespace
}  // namespace lwsvm
