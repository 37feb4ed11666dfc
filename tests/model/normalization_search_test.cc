// Networks that were "trained" on a known normalisation: their weights are made so that they are right on
// it. What is found is that, or an error.
#include "model/normalization_search.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/foreign_file.h"
#include "model/graphs.h"

namespace lwsvm {
namespace {

using Verdict = NormalizationFindings::Verdict;

constexpr int kSide = 4, kPixels = kSide * kSide, kClasses = 4;
const Shape kImage{1, kSide, kSide};

int quarter(int pixel) {
  return pixel / kSide / 2 * 2 + pixel % kSide / 2;
}

// The class is the quarter that is lit all over; another has two pixels that are brighter.
class Quarters final : public SampleSource {
 public:
  explicit Quarters(int samples) {
    Random random(1);
    for (int n = 0; n < samples; ++n) {
      const auto label = static_cast<std::int32_t>(random.below(kClasses));
      labels_.push_back(label);
      const auto other = static_cast<std::int32_t>((label + 1 + random.below(kClasses - 1)) % kClasses);
      for (int i = 0; i < kPixels; ++i) {
        const bool diagonal = (i / kSide + i % kSide) % 2 == 0;
        const double light = quarter(i) == label               ? random.uniform(95, 190)
                             : quarter(i) == other && diagonal ? 200
                                                               : random.uniform(0, 110);
        pixels_.push_back(static_cast<float>(std::floor(light)));
      }
    }
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  std::int32_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }
  void read(std::int64_t index, float* target) const override {
    std::copy_n(pixels_.data() + index * kPixels, kPixels, target);
  }

 private:
  std::vector<float> pixels_;
  std::vector<std::int32_t> labels_;
};

const std::vector<NormalizationCandidate> kCandidates{
    {"0-255", {0}, {1}}, {"0-1", {0}, {255}}, {"-1..1", {127.5f}, {127.5f}}};

enum class Kind { counting, summing, constant };

// Of each quarter, times `gain`: how many pixels are brighter than `threshold`, which tells the class if the
// pixels are of the size that the threshold is for; or how bright they are in all, on any scale alike.
Model network(Kind kind, float threshold, float white, float gain) {
  File file({1, 1, kSide, kSide}, 13, {1, kClasses});
  std::vector<float> w(kPixels * kClasses, 0.0f);
  for (int i = 0; i < kPixels; ++i)
    w[static_cast<std::size_t>((kind == Kind::constant ? 0 : quarter(i)) * kPixels + i)] = gain;
  file.floats("t", {1}, {threshold});
  file.floats("step", {1}, {white / 50});
  file.floats("none", {}, {0});
  file.floats("one", {}, {1});
  file.floats("w", {kClasses, kPixels}, w);
  file.node("Sub", {"x", "t"}, "a");
  file.node("Div", {"a", "step"}, "d");
  if (kind == Kind::counting)
    file.node("Clip", {"d", "none", "one"}, "r");
  else
    file.node("Relu", {"a"}, "r");
  file.node("Flatten", {"r"}, "f");
  File::set(file.node("Gemm", {"f", "w"}), "transB", 1);
  return file.read();
}

Model counting(float threshold, float white) {
  return network(Kind::counting, threshold, white, 2.0f);
}
Model summing(float gain) {
  return network(Kind::summing, 0, 1, gain);
}

NormalizationFindings search(const Model& model, int samples = 3000) {
  return search_normalization(model, kImage, kCandidates, Quarters(samples), Threads(2));
}

TEST(NormalizationSearch, FindsTheOneThatIsClearlyMostAccurate) {
  const NormalizationFindings stored = search(counting(100, 255)), one = search(counting(100 / 255.0f, 1)),
                              both_signs = search(counting(100 / 127.5f - 1, 2));
  EXPECT_EQ(stored.taken, 0u);
  EXPECT_EQ(one.taken, 1u);
  EXPECT_EQ(both_signs.taken, 2u);
  for (const NormalizationFindings& found : {stored, one, both_signs}) {
    EXPECT_EQ(found.verdict, Verdict::best);
    ASSERT_EQ(found.trials.size(), 3u);
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(found.trials[c].name, kCandidates[c].name);
      EXPECT_EQ(found.trials[c].contends, c == found.taken);
      EXPECT_EQ(found.trials[c].samples, 500);
      EXPECT_LE(found.trials[c].accuracy, found.trials[found.taken].accuracy);
    }
  }
}

// Without thresholds 0-255 and 0-1 give the same classes; the scale on which margins and mistakes are of the
// size of 1 is taken, and both are tried on more samples.
TEST(NormalizationSearch, WhereTheScaleDoesNotMatterTheLossDecides) {
  const NormalizationFindings one = search(summing(3.0f)), stored = search(summing(0.01f));
  EXPECT_EQ(one.taken, 1u);
  EXPECT_EQ(stored.taken, 0u);
  for (const NormalizationFindings& found : {one, stored}) {
    EXPECT_EQ(found.verdict, Verdict::alike);
    EXPECT_NEAR(found.trials[0].accuracy, found.trials[1].accuracy, 0.002);  // ties between quarters
    EXPECT_EQ(found.trials[0].samples, 3000);
    EXPECT_TRUE(found.trials[0].contends && found.trials[1].contends);
    EXPECT_LT(found.trials[found.taken].loss, found.trials[1 - found.taken].loss);
  }
}

TEST(NormalizationSearch, ANetworkThatGuessesIsSeen) {
  EXPECT_EQ(search(summing(0)).verdict, Verdict::guessing) << "all scores equal";
  EXPECT_EQ(search(network(Kind::constant, 0, 1, 1)).verdict, Verdict::guessing) << "always the first class";
  EXPECT_EQ(search(counting(NAN, 1)).verdict, Verdict::guessing) << "no numbers";
}

// Two that are about as good, and right on different samples.
TEST(NormalizationSearch, FewSamplesDoNotTell) {
  const std::vector<NormalizationCandidate> close{{"darker", {55}, {255}}, {"lighter", {120}, {255}}};
  const auto verdict = [&](int samples) {
    return search_normalization(counting(0, 1), kImage, close, Quarters(samples), Threads(2)).verdict;
  };
  EXPECT_EQ(verdict(30), Verdict::unclear);
  EXPECT_EQ(verdict(3000), Verdict::best);
}

TEST(NormalizationSearch, FindsTheSameWithAnyNumberOfThreads) {
  const Quarters samples(700);
  const Model model = summing(3.0f);
  const auto one = search_normalization(model, kImage, kCandidates, samples, Threads(1)),
             three = search_normalization(model, kImage, kCandidates, samples, Threads(3));
  EXPECT_EQ(one.taken, three.taken);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(one.trials[c].loss, three.trials[c].loss);
}

}  // namespace
}  // namespace lwsvm
