// Adapting a network to other classes, through the public API.
#include "lwsvm/adapt.h"

#include <gmock/gmock.h>

#include "api/own_samples.h"
#include "lwsvm/error.h"
#include "lwsvm/evaluate.h"
#include "lwsvm/train.h"

namespace lwsvm {
namespace {

// The first two classes of Bars alone, under names.
class TwoBars final : public SampleReader {
 public:
  TwoBars(std::int64_t count, std::uint32_t seed) : bars_(3 * count, seed), count_(count) {}
  std::int64_t size() const override { return count_; }
  int label(std::int64_t index) const override { return static_cast<int>(index % 2); }
  void read(std::int64_t index, float* values) const override {
    bars_.read(index / 2 * 3 + index % 2, values);
  }

 private:
  Bars bars_;
  std::int64_t count_;
};

class AdaptApi : public testing::Test {
 protected:
  AdaptApi() {
    train(network_, bars(), {.arch = kSmallNet, .epochs = 3, .batch = 20});
    const TwoBars samples(200, 5), test(80, 6);
    data_.emplace(Data::copy({.shape = {1, Bars::kSide, Bars::kSide},
                              .classes = 2,
                              .train = &samples,
                              .test = &test,
                              .class_names = {"above", "below"}}));
    settings_.cache_limit = 0;
  }

  Network network_;
  std::optional<Data> data_;
  AdaptSettings settings_;
};

TEST_F(AdaptApi, GivesANetworkForTheClassesOfTheData) {
  settings_.depth = "head";
  const AdaptSummary summary = adapt(network_, *data_, settings_);
  EXPECT_EQ(network_.classes(), 2);
  EXPECT_EQ(summary.classes, (std::vector<std::string>{"above", "below"}));
  EXPECT_EQ(summary.layers.size(), 1u);
  const EvaluateSummary judged = evaluate(network_, *data_);
  EXPECT_NEAR(judged.accuracy, *summary.end.test_accuracy, 1e-12);
  EXPECT_GT(judged.accuracy, 0.6);  // a half by guessing
  EXPECT_EQ(judged.classes.at(1).name, "below");
  EXPECT_FALSE(judged.top5.has_value());
}

TEST_F(AdaptApi, TellsEveryUpdateAndStopsWhenAsked) {
  settings_.depth = "all";
  settings_.task.validation = "60";
  int told = 0;
  settings_.on_update = [&](const RefineUpdate&) { return ++told < 2; };
  const AdaptSummary summary = adapt(network_, *data_, settings_);
  EXPECT_EQ(told, 2);
  EXPECT_FALSE(summary.finished);
  EXPECT_EQ(summary.updates.size(), 2u);
  EXPECT_EQ(network_.classes(), 2);
}

TEST_F(AdaptApi, IsNoWorseThanTheNewLayerAloneByValidation) {
  settings_.depth = "auto";
  settings_.task.validation = "60";
  const AdaptSummary summary = adapt(network_, *data_, settings_);
  if (summary.end.val_accuracy) {
    EXPECT_GE(*summary.end.val_accuracy, *summary.head.val_accuracy - 0.05);
  }
  EXPECT_LE(summary.end.objective, summary.head.objective * 1.2);
}

TEST_F(AdaptApi, LeavesTheNetworkAsItWasWhereItFails) {
  settings_.depth = "deep";
  EXPECT_THROW(adapt(network_, *data_, settings_), Error);
  EXPECT_EQ(network_.classes(), 3);
}

}  // namespace
}  // namespace lwsvm
