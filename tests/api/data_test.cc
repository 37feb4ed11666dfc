#include "lwsvm/data.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/own_samples.h"
#include "lwsvm/error.h"
#include "lwsvm/samples.h"

namespace lwsvm {
namespace {

TEST(Data, OfTheCallersOwnSamplesSaysWhatItHolds) {
  const Data data = bars();
  EXPECT_EQ(data.train_size(), 240);
  EXPECT_EQ(data.test_size(), 60);
  EXPECT_EQ(data.validation_size(), 0);
  EXPECT_EQ(data.classes(), 3);
  EXPECT_EQ(data.shape(), (ImageShape{1, 6, 6}));
}

TEST(Data, CountsClassesByTheLargestLabel) {
  const Bars train(9, 1);
  EXPECT_EQ(Data::copy({.shape = {1, 6, 6}, .train = &train}).classes(), 3);
}

TEST(Data, RefusesWhatNothingCanBeLearntFrom) {
  const Bars train(9, 1), none(0, 1);
  EXPECT_THROW(Data::copy({.shape = {1, 6, 6}}), Error);
  EXPECT_THROW(Data::copy({.shape = {1, 6, 6}, .train = &none}), Error);
  EXPECT_THROW(Data::copy({.train = &train}), Error);
  EXPECT_THROW(Data::copy({.shape = {1, 6, 6}, .classes = 2, .train = &train}), Error);  // there is a label 2
}

TEST(Data, IsFoundByName) {
  const Data data = Data::load("synthetic:n=30,test=10,classes=2,size=4x4");
  EXPECT_EQ(data.train_size(), 30);
  EXPECT_EQ(data.name(), "synthetic");
  EXPECT_THROW(Data::load("no-such-data"), Error);
}

TEST(Data, GivesItsSamplesBack) {
  const Data data = bars();
  const SampleCopy copy = copy_samples(data, "test");
  const Bars test(60, 2);
  EXPECT_EQ(copy.shape, data.shape());
  EXPECT_FALSE(copy.bytes);
  ASSERT_EQ(copy.labels.size(), 60u);
  std::vector<float> sample(36);
  for (std::int64_t i = 0; i < 60; ++i) {
    test.read(i, sample.data());
    EXPECT_TRUE(std::equal(sample.begin(), sample.end(), copy.values.begin() + i * 36));
    EXPECT_EQ(copy.labels[static_cast<std::size_t>(i)], test.label(i));
  }
  EXPECT_TRUE(copy_samples(Data::load("synthetic:n=30,classes=2,size=4x4"), "train").bytes);
  EXPECT_THROW(copy_samples(data, "val"), Error);
  EXPECT_THROW(copy_samples(data, "best"), Error);
}

}  // namespace
}  // namespace lwsvm
