// Features are computed once, and a file of them is believed only if it is the right one, and whole.
#include "run/feature_store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/random.h"
#include "net/evaluator.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/shape_layers.h"
#include "temporary_folder.h"

namespace lwsvm::run {
namespace {

DataSet small_data() {
  const ImageShape shape{1, 6, 5};
  Random random(3);
  const auto samples = [&](std::size_t count) {
    std::vector<std::uint8_t> pixels;
    std::vector<std::int32_t> labels;
    for (std::size_t i = 0; i < count * 30; ++i)
      pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
    for (std::size_t i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>(i % 3));
    return Samples(shape, std::move(pixels), std::move(labels));
  };
  DataSet data;
  data.name = "small";
  data.shape = shape;
  data.classes = 3;
  data.train = samples(61);
  data.validation = samples(7);
  data.test = samples(12);
  return data;
}

Graph small_network() {
  Graph graph;
  const int x = graph.add_input("x", {1, 6, 5});
  ConvolutionSpec spec;
  spec.in_channels = 1, spec.out_channels = 4;
  spec.window.height = spec.window.width = 3;
  const int conv = graph.add("conv", std::make_shared<ConvolutionLayer>(spec), {x});
  const int flat = graph.add("flat", std::make_shared<FlattenLayer>(), {conv});
  graph.add("fc", std::make_shared<DenseLayer>(48, 3, true), {flat});
  Random random(8);
  for (float& w : graph.parameters()) w = static_cast<float>(random.uniform(-1, 1) / 100);
  return graph;
}

class Features : public ::testing::Test {
 protected:
  FeatureOptions options(bool half = false) {
    FeatureOptions options;
    options.cache = &cache_;
    options.key = std::string(64, 'k');
    options.description = "a test";
    options.half = half;
    options.progress = [this](std::int64_t done, std::int64_t) { computed_ = done; };
    return options;
  }
  std::vector<float> values(const FeatureStore& store) const {
    std::vector<float> all(static_cast<std::size_t>(store.size() * store.width()));
    for (std::int64_t i = 0; i < store.size(); ++i) store.read(i, all.data() + i * store.width());
    return all;
  }
  std::vector<float> run(const FeatureOptions& how) {
    const FeatureStore store(graph_, 2, all_, how, threads_);
    found_ = store.found();
    in_file_ = store.in_file();
    return values(store);
  }
  std::filesystem::path file() const {
    const std::vector<CacheEntry> entries = cache_.entries();
    EXPECT_EQ(entries.size(), 1u);
    return entries.at(0).path;
  }

  TemporaryFolder folder_;
  CacheFolder cache_{folder_.path() / "cache"};
  DataSet data_ = small_data();
  Graph graph_ = small_network();
  AllSamples all_{data_, parse_augmentation("flip", data_.shape)};
  Threads threads_{2};
  std::int64_t computed_ = 0;
  bool found_ = false, in_file_ = false;
};

TEST_F(Features, AreThoseOfTheNode) {
  const FeatureStore store(graph_, 2, all_, options(), threads_);
  EXPECT_EQ(store.size(), 2 * 61 + 7 + 12);
  const std::vector<float> all = values(store);
  Evaluator(graph_, threads_, -1, 2)
      .for_scores(all_, [&](std::int64_t first, std::int64_t count, const float* v) {
        for (std::int64_t i = 0; i < count * 48; ++i)
          EXPECT_EQ(all[static_cast<std::size_t>(first * 48 + i)], v[i]);
      });
}

TEST_F(Features, AreFoundByTheNextCommand) {
  const std::vector<float> first = run(options());
  EXPECT_FALSE(found_);
  EXPECT_EQ(computed_, all_.size());
  computed_ = 0;
  EXPECT_EQ(run(options()), first);
  EXPECT_TRUE(found_);
  EXPECT_EQ(computed_, 0);
}

TEST_F(Features, StayInTheFileWhereMemoryIsShort) {
  const std::vector<float> first = run(options());
  cache_.clear();
  FeatureOptions tight = options();
  tight.memory = 100;
  EXPECT_EQ(run(tight), first);
  EXPECT_TRUE(in_file_);
  EXPECT_EQ(run(tight), first);
  EXPECT_TRUE(in_file_ && found_);
}

TEST_F(Features, OfHalfPrecisionAreTheSameComputedOrFound) {
  const std::vector<float> exact = run(options());
  const std::vector<float> first = run(options(true));
  EXPECT_FALSE(found_);
  EXPECT_EQ(run(options(true)), first);
  EXPECT_TRUE(found_);
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(first[i], exact[i], std::abs(exact[i]) / 2048 + 1e-7);
}

TEST_F(Features, OfADamagedFileAreComputedAnew) {
  const std::vector<float> first = run(options());
  const std::string whole = read_file(file());
  Random random(5);
  std::vector<std::string> damaged{whole.substr(0, whole.size() - 1), whole.substr(0, 700), "", whole + "x"};
  for (int k = 0; k < 20; ++k) {
    std::string changed = whole;
    changed[kCacheHead + random.below(whole.size() - kCacheHead)] ^= static_cast<char>(1 << random.below(8));
    damaged.push_back(changed);
  }
  for (const std::string& bytes : damaged) {
    write_file_atomically(file(), bytes);
    EXPECT_EQ(run(options()), first);
    EXPECT_FALSE(found_);
    EXPECT_EQ(read_file(file()), whole);
  }
}

TEST_F(Features, OfAnotherKeyAreNotFound) {
  run(options());
  FeatureOptions other = options();
  other.key = std::string(32, 'k') + std::string(32, 'l');  // the same file name
  run(other);
  EXPECT_FALSE(found_);
}

TEST_F(Features, DoNotNeedACache) {
  FeatureOptions none = options();
  none.cache = nullptr;
  const std::vector<float> first = run(none);
  EXPECT_EQ(run(options()), first);
  none.memory = 100;
  EXPECT_THROW(run(none), Error);
}

TEST_F(Features, NumberTransformedCopiesAfterAllImages) {
  std::vector<std::int32_t> part{5, 60};
  EXPECT_EQ(all_.of_training(part, true), (std::vector<std::int32_t>{5, 60, 66, 121}));
  EXPECT_EQ(all_.of_training(part, false), (std::vector<std::int32_t>{5, 60}));
  std::vector<float> image(30), flipped(30);
  all_.read(5, image.data());
  all_.read(66, flipped.data());
  for (int row = 0; row < 6; ++row)
    for (int column = 0; column < 5; ++column)
      EXPECT_EQ(image[static_cast<std::size_t>(row * 5 + column)],
                flipped[static_cast<std::size_t>(row * 5 + 4 - column)]);
  EXPECT_EQ(all_.of_validation().front(), 122);
  EXPECT_EQ(all_.of_test().front(), 129);
  EXPECT_EQ(all_.of_test().size(), 12u);
}

}  // namespace
}  // namespace lwsvm::run
