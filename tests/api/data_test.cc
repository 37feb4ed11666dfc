#include "lwsvm/data.h"

#include <gtest/gtest.h>

#include "api/own_samples.h"
#include "lwsvm/error.h"

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

}  // namespace
}  // namespace lwsvm
