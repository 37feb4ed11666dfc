// The new last layer: solved exactly, its lambda chosen on samples that it has not seen.
#include "run/adapt_head.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace lwsvm::run {
namespace {

// Classes around corners of a simplex; the last features are noise.
HeadRows blobs(std::int64_t images, int classes, double spread, std::uint64_t seed, std::int64_t noise = 20) {
  Random random(seed);
  HeadRows rows;
  rows.width = classes + noise;
  rows.images = images;
  for (std::int64_t i = 0; i < images; ++i) {
    const int label = static_cast<int>(i) % classes;
    rows.labels.push_back(label);
    for (std::int64_t j = 0; j < rows.width; ++j) {
      const double normal = random.uniform() + random.uniform() + random.uniform() - 1.5;
      rows.values.push_back(static_cast<float>((j == label ? 3 : 0) + spread * normal));
    }
  }
  return rows;
}

double accuracy_of(const LinearModel& model, const HeadRows& rows) {
  return accuracy(model, rows.values, rows.labels);
}

TEST(AdaptHead, ChoosesALambdaThatHoldsOnNewSamples) {
  const Threads threads(2);
  const HeadRows training = blobs(150, 3, 4.0, 1), fresh = blobs(3000, 3, 4.0, 2);
  const MarginMatrix margins(3);
  const HeadChoice choice = choose_head_lambda(training, nullptr, margins, {}, threads);
  double best = 0;
  for (const HeadTrial& trial : choice.trials)
    best = std::max(best, accuracy_of(solve_head(training, trial.lambda, margins, {}, threads).model, fresh));
  const double chosen = accuracy_of(solve_head(training, choice.lambda, margins, {}, threads).model, fresh);
  EXPECT_GT(chosen, best - 0.04);
  EXPECT_NEAR(choice.accuracy, chosen, 0.1);  // the folds do not flatter it
  EXPECT_EQ(choice.folds, 5);
}

TEST(AdaptHead, DoesNotDependOnTheScaleOfFeatures) {
  const Threads threads(2);
  const HeadRows training = blobs(120, 4, 3.0, 1);
  HeadRows large = training;
  for (float& value : large.values) value *= 64;
  const HeadChoice a = choose_head_lambda(training, nullptr, MarginMatrix(4), {}, threads);
  const HeadChoice b = choose_head_lambda(large, nullptr, MarginMatrix(4), {}, threads);
  EXPECT_NEAR(b.lambda / a.lambda, 64.0 * 64, 1);
}

TEST(AdaptHead, TakesFiveSamplesOfAHundredClasses) {
  const Threads threads(2);
  const HeadRows training = blobs(5 * 101, 101, 1.0, 1), fresh = blobs(10 * 101, 101, 1.0, 2);
  const MarginMatrix margins(101);
  const HeadChoice choice = choose_head_lambda(training, nullptr, margins, {}, threads);
  EXPECT_GT(accuracy_of(solve_head(training, choice.lambda, margins, {}, threads).model, fresh), 0.9);
}

TEST(AdaptHead, ClosesTheGap) {
  const Threads threads(2);
  const HeadRows training = blobs(150, 3, 4.0, 1);
  const MarginMatrix margins(3);
  for (const double lambda : {10.0, 1.0, 0.1}) {
    const SolvedHead solved = solve_head(training, lambda, margins, {}, threads);
    EXPECT_LE(solved.relative_gap, 1.01e-3);
    // No better one a step away, in any of many directions.
    const double found = svm_objective(solved.model, training.values, training.labels, margins, lambda);
    Random random(7);
    for (int k = 0; k < 50; ++k) {
      LinearModel other = solved.model;
      for (float& w : other.weights) w += static_cast<float>(0.02 * random.uniform(-1, 1));
      EXPECT_GT(svm_objective(other, training.values, training.labels, margins, lambda),
                found * (1 - 1.1e-3));
    }
  }
}

TEST(AdaptHead, SameBitsWithAnyNumberOfThreads) {
  const HeadRows training = blobs(150, 3, 4.0, 1);
  const MarginMatrix margins(3);
  const SolvedHead one = solve_head(training, 0.1, margins, {}, Threads(1));
  const SolvedHead three = solve_head(training, 0.1, margins, {}, Threads(3));
  EXPECT_EQ(one.model.weights, three.model.weights);
  EXPECT_EQ(one.model.biases, three.model.biases);
}

TEST(AdaptHead, JoinsCopyByCopy) {
  HeadRows a = blobs(4, 2, 1, 1, 0), b = blobs(2, 2, 1, 2, 0);
  for (HeadRows* rows : {&a, &b}) {  // a second copy of every image, moved
    const std::size_t values = rows->values.size(), labels = rows->labels.size();
    for (std::size_t i = 0; i < values; ++i) rows->values.push_back(rows->values[i] + 100);
    for (std::size_t i = 0; i < labels; ++i) rows->labels.push_back(rows->labels[i]);
  }
  const HeadRows both = joined(a, b);
  EXPECT_EQ(both.images, 6);
  EXPECT_EQ(both.rows(), 12);
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(both.labels[static_cast<std::size_t>(i)], both.labels[static_cast<std::size_t>(i + 6)]);
    EXPECT_FLOAT_EQ(both.row(i)[0] + 100, both.row(i + 6)[0]);
  }
}

TEST(BalancedMargins, GrowWithRarityAndAverageOne) {
  std::vector<std::int32_t> labels(90, 0);
  labels.insert(labels.end(), 10, 1);
  const MarginMatrix margins = balanced_margins(MarginMatrix(2), labels);
  EXPECT_NEAR(margins(0, 1) / margins(1, 0), std::sqrt(9.0), 1e-5);
  EXPECT_NEAR((90 * margins(1, 0) + 10 * margins(0, 1)) / 100, 1.0, 1e-5);
  EXPECT_EQ(margins(0, 0), 0);
}

TEST(BalancedMargins, FindMoreOfARareClass) {
  const Threads threads(2);
  HeadRows training = blobs(400, 2, 5.0, 1, 0), rare;
  rare.width = training.width;
  for (std::int64_t i = 0; i < training.images; ++i) {
    if (training.labels[static_cast<std::size_t>(i)] == 1 && i % 10 != 1) continue;
    rare.labels.push_back(training.labels[static_cast<std::size_t>(i)]);
    rare.values.insert(rare.values.end(), training.row(i), training.row(i) + training.width);
    ++rare.images;
  }
  const HeadRows fresh = blobs(2000, 2, 5.0, 3, 0);
  const auto found = [&](const MarginMatrix& margins) {
    const LinearModel model = solve_head(rare, 0.001, margins, {}, threads).model;
    int hits = 0;
    for (std::int64_t i = 1; i < fresh.images; i += 2) hits += model.predict(fresh.row(i)) == 1;
    return hits;
  };
  EXPECT_GT(found(balanced_margins(MarginMatrix(2), rare.labels)), found(MarginMatrix(2)) + 20);
}

}  // namespace
}  // namespace lwsvm::run
