#include "ssvm/label_blocks.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace lwsvm {
namespace {

std::vector<std::int32_t> random_labels(int samples, int classes, Random& random) {
  std::vector<std::int32_t> labels;
  for (int i = 0; i < samples; ++i) labels.push_back(static_cast<std::int32_t>(random.below(classes)));
  return labels;
}

TEST(LabelBlocks, StartAtTheTrueLabelAndStoreNothing) {
  const std::vector<std::int32_t> labels = {2, 0, 1};
  const LabelBlocks blocks(labels, 3);
  std::vector<float> point(3);
  for (int i = 0; i < 3; ++i) {
    blocks.read(i, point);
    for (int y = 0; y < 3; ++y) EXPECT_EQ(point[y], y == labels[i] ? 1.0f : 0.0f);
    EXPECT_TRUE(blocks.at_true_label(i));
  }
  EXPECT_EQ(blocks.nonzeros(), 3u);
}

TEST(LabelBlocks, BlendAndWriteAgreeWithDensePointsAndSurviveSaving) {
  const int samples = 300, classes = 12;
  Random random(5);
  const auto labels = random_labels(samples, classes, random);
  LabelBlocks blocks(labels, classes);
  std::vector<std::vector<double>> dense(samples, std::vector<double>(classes, 0.0));
  for (int i = 0; i < samples; ++i) dense[i][labels[i]] = 1;
  std::vector<float> point(classes);
  for (int change = 0; change < 20000; ++change) {
    const auto i = static_cast<int>(random.below(samples));
    const auto y = static_cast<int>(random.below(classes));
    if (random.below(4) == 0) {
      double others = 0;
      for (int k = 0; k < classes; ++k) {
        point[k] = random.below(3) == 0 ? static_cast<float>(random.uniform(0, 0.05)) : 0.0f;
        dense[i][k] = point[k];
        if (k != labels[i]) others += point[k];
      }
      dense[i][labels[i]] = 1 - others;
      blocks.write(i, point);
    } else {
      const float step = random.below(5) == 0 ? 1.0f : static_cast<float>(random.uniform());
      for (double& weight : dense[i]) weight *= 1 - step;
      dense[i][y] += step;
      blocks.blend(i, y, step);
    }
  }
  Checkpoint checkpoint;
  auto saving = StateArchive::saving_to(checkpoint);
  blocks.visit(saving);
  LabelBlocks restored(labels, classes);
  auto loading = StateArchive::loading_from(checkpoint);
  restored.visit(loading);

  std::vector<float> values(classes), other(classes);
  for (float& x : values) x = static_cast<float>(random.normal());
  std::uint64_t nonzeros = 0;
  for (int i = 0; i < samples; ++i) {
    blocks.read(i, point);
    restored.read(i, other);
    double expected = 0;
    for (int y = 0; y < classes; ++y) {
      EXPECT_NEAR(point[y], dense[i][y], 1e-5);
      EXPECT_EQ(point[y], other[y]);
      expected += dense[i][y] * values[y];
      nonzeros += point[y] != 0;
    }
    EXPECT_NEAR(blocks.dot(i, values.data()), expected, 1e-5);
  }
  EXPECT_NEAR(static_cast<double>(blocks.nonzeros()), static_cast<double>(nonzeros), samples * 0.01);
  EXPECT_EQ(restored.nonzeros(), blocks.nonzeros());
}

TEST(LabelBlocks, TakeAtMost16BytesPerSampleAndNonzeroAlsoAfterManyFell) {
  const int samples = 20000, classes = 50;
  Random random(6);
  const auto labels = random_labels(samples, classes, random);
  LabelBlocks blocks(labels, classes);
  const auto within_bound = [&] { return blocks.bytes() <= 16 * blocks.nonzeros(); };
  EXPECT_TRUE(within_bound());
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < samples; ++i)
      if (random.below(3) == 0) blocks.blend(i, static_cast<int>(random.below(classes)), 0.3f);
    EXPECT_TRUE(within_bound()) << blocks.bytes() << " bytes for " << blocks.nonzeros();
  }
  for (int i = 0; i < samples; ++i)  // most samples return to their label
    if (i % 10 != 0) blocks.blend(i, labels[i], 1.0f);
  EXPECT_TRUE(within_bound()) << blocks.bytes() << " bytes for " << blocks.nonzeros();
}

TEST(LabelBlocks, RefuseALabelBeyondTheClasses) {
  const std::vector<std::int32_t> labels = {0, 3};
  EXPECT_THROW(LabelBlocks(labels, 3), Error);
}

}  // namespace
}  // namespace lwsvm
