#include "data/synthetic.h"

#include <algorithm>

#include "data/files.h"

namespace lwsvm {
namespace {

using ::testing::HasSubstr;
using namespace lwsvm::test;

TEST(Synthetic, HasTheSizeAskedFor) {
  const DataSet data = load_data("synthetic:n=40,test=12,classes=4,size=6x5,channels=2,seed=3");
  EXPECT_EQ(data.name, "synthetic");
  EXPECT_EQ(data.shape, (ImageShape{2, 6, 5}));
  EXPECT_EQ(data.classes, 4);
  EXPECT_EQ(data.train.size(), 40u);
  EXPECT_EQ(data.test.size(), 12u);
  for (int k = 0; k < 4; ++k)
    EXPECT_EQ(std::count(data.train.labels().begin(), data.train.labels().end(), k), 10);
  EXPECT_TRUE(load_data("synthetic:n=5,test=0").test.empty());
  EXPECT_EQ(load_data("synthetic:n=5,test=1,size=7").shape, (ImageShape{1, 7, 7}));
}

TEST(Synthetic, IsDeterministicAndASmallerSetIsTheBeginningOfALarger) {
  const DataSet a = load_data("synthetic:n=30,seed=1"), b = load_data("synthetic:n=60,seed=1"),
                c = load_data("synthetic:n=30,seed=2");
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(sample(a.train, i), sample(b.train, i));
  EXPECT_NE(sample(a.train, 0), sample(c.train, 0));
  EXPECT_NE(sample(a.train, 0), sample(a.test, 0));
}

// The class whose mean is nearest: far better than guessing, far from perfect.
TEST(Synthetic, CanBeLearntButNotPerfectly) {
  const DataSet data = load_data("synthetic");
  const auto size = data.train.sample_size(), classes = static_cast<std::size_t>(data.classes);
  std::vector<double> mean(classes * size);
  for (std::size_t i = 0; i < data.train.size(); ++i) {
    const auto x = sample(data.train, i);
    const auto k = static_cast<std::size_t>(data.train.labels()[i]);
    for (std::size_t p = 0; p < size; ++p)
      mean[k * size + p] += x[p] * double(classes) / double(data.train.size());
  }
  std::size_t right = 0;
  for (std::size_t i = 0; i < data.test.size(); ++i) {
    const auto x = sample(data.test, i);
    std::vector<double> distance(classes);
    for (std::size_t k = 0; k < classes; ++k) {
      for (std::size_t p = 0; p < size; ++p)
        distance[k] += (x[p] - mean[k * size + p]) * (x[p] - mean[k * size + p]);
    }
    right += std::min_element(distance.begin(), distance.end()) - distance.begin() == data.test.labels()[i];
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(data.test.size());
  RecordProperty("nearest_mean_accuracy", std::to_string(accuracy));
  EXPECT_GT(accuracy, 0.4);
  EXPECT_LT(accuracy, 0.98);
}

TEST(Synthetic, BadOptionsAreRejected) {
  for (const char* bad : {"n=0", "n=-1", "n=x", "n", "classes=1", "classes=100000", "size=0x4", "size=4x",
                          "size=x4", "size=5000", "channels=0", "colour=3", "n=99999999999999999999",
                          "n=999999999999", "n=4000000,size=1024,channels=3", "seed=-1", "n=2,,test=1"}) {
    SCOPED_TRACE(bad);
    EXPECT_THAT(error_of([&] { load_data(std::string("synthetic:") + bad); }), HasSubstr("[synthetic]"));
  }
}

}  // namespace
}  // namespace lwsvm
