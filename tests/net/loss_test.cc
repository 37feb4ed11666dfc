#include "net/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "checks.h"

namespace lwsvm {
namespace {

MarginMatrix random_margins(int classes, Random& random) {
  std::vector<float> values = random_floats(classes * classes, 0, 2, random);
  for (int y = 0; y < classes; ++y) values[at(y * classes + y)] = 0;
  return {classes, values};
}

std::vector<Loss> losses(int classes, Random& random) {
  return {{LossKind::hinge, MarginMatrix(classes)},
          {LossKind::hinge, random_margins(classes, random)},
          {LossKind::cross_entropy, MarginMatrix(classes)}};
}

TEST(Loss, ValueAndSlopeFollowTheDefinition) {
  Random random(1);
  for (int classes : {2, 3, 10, 100})
    for (const Loss& loss : losses(classes, random)) {
      constexpr int samples = 7;
      const std::vector<float> scores = random_floats(samples * classes, -2, 2, random);
      naive::Tensor tensor({classes}, samples);
      std::vector<std::int32_t> labels;
      for (int i = 0; i < samples; ++i)
        labels.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(classes))));
      tensor.values.assign(scores.begin(), scores.end());
      std::vector<float> gradient(scores.size(), std::nanf(""));
      const float weight = 0.25f;
      const LossSums sums = loss.evaluate(scores.data(), labels, gradient.data(), weight);
      EXPECT_NEAR(sums.loss, naive_loss(loss, tensor, labels), 1e-6 * (1 + sums.loss));
      EXPECT_EQ(sums.samples, samples);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        naive::Tensor up = tensor, down = tensor;
        up.values[i] += 1e-6;
        down.values[i] -= 1e-6;
        const double slope = (naive_loss(loss, up, labels) - naive_loss(loss, down, labels)) / 2e-6;
        ASSERT_NEAR(gradient[i], 0.25 * slope, 1e-6);
      }
      // Without a gradient asked for: the same value.
      EXPECT_EQ(loss.evaluate(scores.data(), labels, nullptr, weight).loss, sums.loss);
    }
}

TEST(Hinge, IsZeroWithoutASlopeExactlyWhenEveryMarginIsKept) {
  const Loss loss(LossKind::hinge, MarginMatrix(3));
  const std::vector<std::int32_t> label{1};
  float gradient[3];
  const float kept[] = {0, 1.5f, 0.25f};
  EXPECT_EQ(loss.evaluate(kept, label, gradient, 1.0f).loss, 0);
  EXPECT_THAT(gradient, testing::Each(0.0f));
  const float close[] = {0, 0.5f, -1};
  EXPECT_EQ(loss.evaluate(close, label, gradient, 1.0f).loss, 0.5);
  EXPECT_THAT(gradient, testing::ElementsAre(1.0f, -1.0f, 0.0f));
}

TEST(Hinge, ReadsDeltaAsRowPredictedColumnTrue) {
  const MarginMatrix margins(2, std::vector<float>{0, 5, 3, 0});
  EXPECT_EQ(margins(0, 1), 5);
  EXPECT_EQ(margins(1, 0), 3);
  EXPECT_EQ(margins.column(1)[0], 5);
  const float scores[] = {0, 0};
  EXPECT_EQ(Loss(LossKind::hinge, margins).evaluate(scores, std::vector<std::int32_t>{1}, nullptr, 1).loss,
            5);
}

TEST(Hinge, GivesTiesToTheLowestClass) {
  const Loss loss(LossKind::hinge, MarginMatrix(4));
  const float scores[] = {1, 2, 2, 2};  // truth 0: classes 1, 2 and 3 violate equally
  float gradient[4];
  loss.evaluate(scores, std::vector<std::int32_t>{0}, gradient, 1.0f);
  EXPECT_THAT(gradient, testing::ElementsAre(-1.0f, 1.0f, 0.0f, 0.0f));
  EXPECT_EQ(predicted_class(scores, 4), 1);
}

// log sum exp lies between the maximum and the maximum + log C; its slope is checked by finite differences.
TEST(SmoothedHinge, LiesJustAboveTheHingeAndSlopesAsItSays) {
  Random random(9);
  for (const int classes : {2, 5, 30})
    for (const double temperature : {1e-3, 0.1, 1.0}) {
      const Loss hinge(LossKind::hinge, random_margins(classes, random));
      Loss smoothed = hinge;
      smoothed.set_temperature(temperature);
      const std::vector<float> scores = random_floats(classes, -2, 2, random);
      const std::vector<std::int32_t> label{
          static_cast<int>(random.below(static_cast<std::uint64_t>(classes)))};
      std::vector<float> gradient(scores.size());
      const double value = smoothed.evaluate(scores.data(), label, gradient.data(), 1.0f).loss;
      const double sharp = hinge.evaluate(scores.data(), label, nullptr, 1.0f).loss;
      EXPECT_GE(value, sharp - 1e-12);
      EXPECT_LE(value, sharp + temperature * std::log(classes) + 1e-12);
      if (temperature < 0.1) continue;  // too sharp for differences of floats
      for (std::size_t y = 0; y < scores.size(); ++y) {
        std::vector<float> up = scores, down = scores;
        up[y] += 1e-3f;
        down[y] -= 1e-3f;
        const double rise = smoothed.evaluate(up.data(), label, nullptr, 1.0f).loss -
                            smoothed.evaluate(down.data(), label, nullptr, 1.0f).loss;
        EXPECT_NEAR(gradient[y], rise / (static_cast<double>(up[y]) - static_cast<double>(down[y])), 1e-3);
      }
    }
}

TEST(SmoothedHinge, WithoutMarginsAtTemperatureOneIsTheCrossEntropy) {
  Random random(10);
  Loss smoothed(LossKind::hinge, MarginMatrix(4, std::vector<float>(16, 0.0f)));
  smoothed.set_temperature(1);
  const Loss entropy(LossKind::cross_entropy, MarginMatrix(4));
  const std::vector<float> scores = random_floats(8, -3, 3, random);
  const std::vector<std::int32_t> labels{2, 0};
  std::vector<float> slopes[2]{std::vector<float>(8), std::vector<float>(8)};
  EXPECT_EQ(smoothed.evaluate(scores.data(), labels, slopes[0].data(), 0.5f).loss,
            entropy.evaluate(scores.data(), labels, slopes[1].data(), 0.5f).loss);
  EXPECT_EQ(slopes[0], slopes[1]);
}

TEST(CrossEntropy, SurvivesLargeScoresAndItsSlopeSumsToZero) {
  const Loss loss(LossKind::cross_entropy, MarginMatrix(3));
  const float scores[] = {1000, -1000, 500};
  float gradient[3];
  EXPECT_DOUBLE_EQ(loss.evaluate(scores, std::vector<std::int32_t>{1}, gradient, 1.0f).loss, 2000);
  EXPECT_THAT(gradient, testing::ElementsAre(1.0f, -1.0f, 0.0f));
}

TEST(Loss, CountsWhatIsRight) {
  const Loss loss(LossKind::hinge, MarginMatrix(2));
  const float scores[] = {1, 0, 0, 1, 1, 1};
  const LossSums sums = loss.evaluate(scores, std::vector<std::int32_t>{0, 0, 0}, nullptr, 1);
  EXPECT_EQ(sums.correct, 2);  // a tie goes to class 0
  EXPECT_DOUBLE_EQ(sums.accuracy(), 2.0 / 3);
  LossSums both = sums;
  both.add(sums);
  EXPECT_EQ(both.samples, 6);
  EXPECT_DOUBLE_EQ(both.mean_loss(), sums.mean_loss());
  EXPECT_EQ(LossSums{}.mean_loss(), 0);
}

TEST(MarginMatrix, SaysWhatIsWrongWithIt) {
  const auto message = [](int classes, std::vector<float> values) -> std::string {
    try {
      MarginMatrix(classes, std::move(values));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_EQ(message(2, {0, 1, 2, 0}), "");
  EXPECT_THAT(message(2, {0, 1, 2}), HasSubstr("3 entries"));
  EXPECT_THAT(message(2, {0, -1, 2, 0}), HasSubstr("row 0, column 1"));
  EXPECT_THAT(message(2, {0, 1, NAN, 0}), HasSubstr("row 1, column 0"));
  EXPECT_THAT(message(2, {0, INFINITY, 1, 0}), HasSubstr("row 0, column 1: inf"));
  EXPECT_THAT(message(2, {0, 1, 1, 0.5f}), HasSubstr("diagonal"));
}

// A comparison with NaN is false, so that a search for the largest score passes over it.
TEST(Loss, AScoreThatIsNotANumberIsNotPassedOver) {
  Random random(3);
  for (const Loss& loss : losses(3, random))
    for (std::size_t bad = 0; bad < 3; ++bad) {
      std::vector<float> scores{0.5f, 1.0f, -0.5f};
      scores[bad] = std::nanf("");
      for (std::int32_t label : {0, 1, 2})
        EXPECT_TRUE(std::isnan(loss.evaluate(scores.data(), std::vector{label}, nullptr, 1.0f).loss));
    }
}

}  // namespace
}  // namespace lwsvm
