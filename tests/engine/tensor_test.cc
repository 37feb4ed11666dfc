#include "engine/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace lwsvm {
namespace {

std::vector<float> counted(std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(size));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST(Relayout, PutsChannelsLastAndBack) {
  const Shape shapes[] = {{1, 5, 7},   {3, 1, 1},   {3, 5, 7}, {16, 4, 4},
                          {17, 19, 3}, {64, 1, 33}, {12},      {4, 6}};
  for (const Shape& shape : shapes)
    for (int samples : {1, 3}) {
      SCOPED_TRACE(to_string(shape));
      const TensorSpec first{shape, Layout::channels_first}, last{shape, Layout::channels_last};
      const std::vector<float> original = counted(samples * first.size());
      std::vector<float> there(original.size()), back(original.size());
      relayout(first, original.data(), last, there.data(), samples);
      relayout(last, there.data(), first, back.data(), samples);
      EXPECT_EQ(back, original);
      if (shape.size() != 3) {
        EXPECT_EQ(there, original);
        continue;
      }
      const std::int64_t c_count = shape[0], pixels = shape[1] * shape[2];
      for (std::int64_t n = 0; n < samples; ++n)
        for (std::int64_t c = 0; c < c_count; ++c)
          for (std::int64_t p = 0; p < pixels; ++p)
            ASSERT_EQ(there[static_cast<std::size_t>((n * pixels + p) * c_count + c)],
                      original[static_cast<std::size_t>((n * c_count + c) * pixels + p)]);
    }
}

TEST(Relayout, PutsSamplesSideBySideAndBackAndFillsUpWithZeros) {
  const Shape shapes[] = {{1, 5, 7}, {3, 1, 1}, {3, 5, 7}, {17, 9, 3}};
  for (const Shape& shape : shapes)
    for (Layout layout : {Layout::channels_first, Layout::channels_last})
      for (int lanes : {4, 8, 16})
        for (int samples : {1, 4, 5, 16, 19}) {
          SCOPED_TRACE(to_string(shape));
          const TensorSpec images{shape, layout}, groups{shape, Layout::interleaved, lanes};
          const std::vector<float> original = counted(samples * images.size());
          std::vector<float> there(static_cast<std::size_t>(groups.floats(samples)), -1.0f);
          std::vector<float> back(original.size());
          relayout(images, original.data(), groups, there.data(), samples);
          relayout(groups, there.data(), images, back.data(), samples);
          EXPECT_EQ(back, original);
          const std::int64_t pixels = shape[1] * shape[2];
          for (std::int64_t n = 0; n < groups.places(samples); ++n)
            for (std::int64_t c = 0; c < shape[0]; ++c)
              for (std::int64_t p = 0; p < pixels; ++p) {
                const bool last = layout == Layout::channels_last;
                const std::int64_t element = last ? p * shape[0] + c : c * pixels + p;
                const auto from = static_cast<std::size_t>(n * images.size() + element);
                const std::int64_t group = n / lanes * lanes * images.size();
                const auto to = static_cast<std::size_t>(group + (c * pixels + p) * lanes + n % lanes);
                ASSERT_EQ(there[to], n < samples ? original[from] : 0.0f);
              }
        }
}

TEST(Relayout, CanBeSkippedExactlyWhereItChangesNothing) {
  const Shape shapes[] = {{1, 5, 7}, {3, 1, 1}, {3, 1, 2}, {2, 2, 2}, {12}, {4, 6}, {1, 1, 1}};
  for (const Shape& shape : shapes) {
    const TensorSpec first{shape, Layout::channels_first}, last{shape, Layout::channels_last};
    const std::vector<float> original = counted(2 * first.size());
    std::vector<float> there(original.size());
    relayout(first, original.data(), last, there.data(), 2);
    EXPECT_EQ(same_order(first, last), there == original) << to_string(shape);
  }
  EXPECT_FALSE(same_order({{2, 3}, Layout::channels_first}, {{3, 2}, Layout::channels_first}));
}

TEST(AlignedBuffer, IsAlignedAndKeepsItsMemoryWhenItShrinks) {
  AlignedBuffer<float> buffer;
  EXPECT_EQ(buffer.size(), 0u);
  for (std::size_t size : {1, 17, 1000}) {
    buffer.resize(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    std::fill(buffer.begin(), buffer.end(), 1.0f);  // all of it is ours
  }
  const float* before = buffer.data();
  buffer.resize(5);
  EXPECT_EQ(buffer.size(), 5u);
  EXPECT_EQ(buffer.data(), before);
  EXPECT_EQ(buffer.end() - buffer.begin(), 5);
}

TEST(Shape, ReadsAsPeopleWriteIt) {
  EXPECT_EQ(to_string(Shape{12, 28, 28}), "12x28x28");
  EXPECT_EQ(to_string(Shape{}), "1");
  EXPECT_EQ(element_count({12, 28, 28}), 12 * 28 * 28);
}

}  // namespace
}  // namespace lwsvm
