#include "data/split.h"

#include <algorithm>

#include "data/files.h"

namespace lwsvm {
namespace {

using ::testing::HasSubstr;
using namespace lwsvm::test;

TEST(Split, IsAPartitionAndDeterministic) {
  for (const std::size_t count : {1u, 2u, 17u, 1000u}) {
    for (const std::size_t validation : {std::size_t{0}, count / 3, count}) {
      const Split split = split_samples(count, validation, 5), again = split_samples(count, validation, 5);
      EXPECT_EQ(split.train, again.train);
      EXPECT_EQ(split.validation, again.validation);
      EXPECT_EQ(split.validation.size(), validation);
      std::vector<std::int32_t> all = split.train;
      all.insert(all.end(), split.validation.begin(), split.validation.end());
      std::sort(all.begin(), all.end());
      ASSERT_EQ(all.size(), count);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(all[i], static_cast<std::int32_t>(i));
    }
  }
  EXPECT_NE(split_samples(1000, 100, 1).validation, split_samples(1000, 100, 2).validation);
}

TEST(Split, ALargerValidationPartContainsTheSmaller) {
  const Split small = split_samples(100, 10, 3), large = split_samples(100, 20, 3);
  EXPECT_TRUE(std::equal(small.validation.begin(), small.validation.end(), large.validation.begin()));
}

DataSet bytes(const std::string& name, const ImageShape& shape, std::size_t count) {
  DataSet data;
  data.name = name;
  data.shape = shape;
  data.classes = 10;
  data.train = Samples(shape, std::vector<std::uint8_t>(count * static_cast<std::size_t>(shape.size())),
                       std::vector<std::int32_t>(count));
  return data;
}

TEST(Split, DefaultsFollowThePaperAndNeverTakeEverything) {
  EXPECT_EQ(default_validation_count(bytes("mnist", {1, 28, 28}, 60000)), 10000u);
  EXPECT_EQ(default_validation_count(bytes("some-folder", {1, 28, 28}, 60000)), 10000u);
  EXPECT_EQ(default_validation_count(bytes("cifar10", {3, 32, 32}, 50000)), 5000u);
  EXPECT_EQ(default_validation_count(bytes("other", {1, 2, 2}, 1000)), 100u);
  for (const std::size_t count : {1u, 2u, 5u, 11u, 9999u, 10000u}) {
    EXPECT_LT(default_validation_count(bytes("mnist", {1, 1, 1}, count)), count);
  }
}

TEST(Split, ValidationArgument) {
  EXPECT_EQ(parse_validation_count("5000", 60000), 5000u);
  EXPECT_EQ(parse_validation_count("0.1", 60000), 6000u);
  EXPECT_EQ(parse_validation_count("0", 10), 0u);
  EXPECT_EQ(parse_validation_count("0.0", 10), 0u);
  EXPECT_EQ(parse_validation_count("9", 10), 9u);
  EXPECT_LT(parse_validation_count("0.9999999999999999", 10), 10u);
  for (const char* bad :
       {"10", "11", "1.0", "-1", "-0.5", "", "ten", "5 ", "nan", "inf", "99999999999999999999"}) {
    SCOPED_TRACE(bad);
    EXPECT_THAT(error_of([&] { parse_validation_count(bad, 10); }), HasSubstr("--val"));
  }
}

}  // namespace
}  // namespace lwsvm
