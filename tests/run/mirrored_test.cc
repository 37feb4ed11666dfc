#include "run/mirrored.h"

#include <gtest/gtest.h>

#include "base/thread_team.h"
#include "net/layers/dense_layer.h"
#include "net/layers/shape_layers.h"
#include "run/quality.h"

namespace lwsvm::run {
namespace {

constexpr int kSide = 8, kPixels = kSide * kSide;

// Bright in one half of the image, with noise: above or below, or left or right.
std::shared_ptr<const DataSet> halves(bool side_by_side, int samples) {
  Random random(5, 5);
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < samples; ++i) {
    labels.push_back(i % 2);
    for (int h = 0; h < kSide; ++h)
      for (int w = 0; w < kSide; ++w) {
        const bool second_half = (side_by_side ? w : h) >= kSide / 2;
        pixels.push_back(static_cast<float>((second_half == (i % 2 == 1)) + random.uniform(-5, 5)));
      }
  }
  auto data = std::make_shared<DataSet>();
  data->name = "halves";
  data->shape = {1, kSide, kSide};
  data->classes = 2;
  data->train = Samples(data->shape, std::move(pixels), std::move(labels));
  return data;
}

// Scores: how bright each half is.
Model half_detector(bool side_by_side) {
  Model model;
  Graph& graph = model.graph;
  int x = graph.add_input("x", {1, kSide, kSide});
  x = graph.add("flatten", std::make_shared<FlattenLayer>(), {x});
  x = graph.add("svm", std::make_shared<DenseLayer>(kPixels, 2), {x});
  graph.set_output(x);
  for (int h = 0; h < kSide; ++h)
    for (int w = 0; w < kSide; ++w) {
      const int half = (side_by_side ? w : h) >= kSide / 2;
      graph.parameters()[static_cast<std::size_t>(half * kPixels + h * kSide + w)] = 1;
    }
  return model;
}

bool are_like_new(bool side_by_side, const std::string& validation = "1000", Team& team = alone()) {
  TaskOptions options;
  options.validation = validation;
  const Task whole(options, nullptr, halves(side_by_side, 3000));
  const Task task(options, nullptr, own_samples(whole, team));  // no pixels of others' samples
  const Model model = half_detector(side_by_side);
  const Threads threads(2);
  Messages silence;
  const NetworkQuality start =
      evaluate_start(model, SamplePart(task.train, team), SamplePart(task.validation, team), task.loss,
                     Regulariser(model.graph, 0), threads, team);
  EXPECT_GT(start.val_accuracy, 0.7);
  EXPECT_LT(start.val_accuracy, 0.99);
  return mirrored_are_like_new(model, task, start, 1000, threads, silence, team);
}

TEST(Mirrored, ImagesAreLikeNewWhereLeftAndRightAreAlike) {
  EXPECT_TRUE(are_like_new(false));
}

TEST(Mirrored, ImagesAreNotLikeNewWhereTheSideIsTheAnswer) {
  EXPECT_FALSE(are_like_new(true));
}

TEST(Mirrored, SeveralRanksLookAtTheirOwnAndSayTheSame) {
  for (const int ranks : {2, 3})
    with_ranks(ranks, [](Team& team) {
      EXPECT_TRUE(are_like_new(false, "1000", team));
      EXPECT_FALSE(are_like_new(true, "1000", team));
    });
}

TEST(Mirrored, NothingIsSaidWithFewValidationSamples) {
  EXPECT_FALSE(are_like_new(false, "100"));
}

TEST(Mirrored, SamplesAreTheTrainingImagesAndThenTheirMirrorImages) {
  TaskOptions options;
  options.validation = "10";
  const Task task(options, nullptr, halves(true, 30));
  const MirroredSamples samples(task, alone());
  const AugmentedSource& both = samples.all;
  ASSERT_EQ(both.size(), 40);
  EXPECT_EQ(both.copies(), 2);
  std::vector<float> image(kPixels), mirrored(kPixels);
  for (std::int64_t i = 0; i < 20; ++i) {
    both.read(i, image.data());
    both.read(20 + i, mirrored.data());
    EXPECT_EQ(both.label(20 + i), both.label(i));
    for (std::size_t h = 0; h < kSide; ++h)
      for (std::size_t w = 0; w < kSide; ++w)
        ASSERT_EQ(mirrored[h * kSide + w], image[h * kSide + kSide - 1 - w]);
  }
}

}  // namespace
}  // namespace lwsvm::run
