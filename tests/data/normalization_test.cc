#include "data/normalization.h"

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "data/files.h"

namespace lwsvm {
namespace {

using ::testing::HasSubstr;
using namespace lwsvm::test;

// Pixel 0 never changes; the others vary about a large offset.
DataSet make_data(const ImageShape& shape, std::size_t count, bool as_bytes,
                  const std::string& name = "test") {
  Random random(3);
  const auto size = static_cast<std::size_t>(shape.size());
  std::vector<float> floats(count * size);
  std::vector<std::uint8_t> bytes(count * size);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const bool constant = i % size == 0;
    floats[i] = constant
                    ? 0.1f
                    : static_cast<float>(1000.0 + random.normal() * (1.0 + static_cast<double>(i % size)));
    bytes[i] = constant ? 17 : static_cast<std::uint8_t>(random.below(256));
  }
  DataSet data;
  data.name = name;
  data.shape = shape;
  data.classes = 2;
  std::vector<std::int32_t> labels(count);
  data.train = as_bytes ? Samples(shape, bytes, labels) : Samples(shape, floats, labels);
  return data;
}

std::vector<std::int32_t> every_second(std::size_t count) {
  std::vector<std::int32_t> part;
  for (std::size_t i = 0; i < count; i += 2) part.push_back(static_cast<std::int32_t>(i));
  return part;
}

// Mean and variance of each of `groups` groups of pixels after normalisation.
void expect_standard(const DataSet& data, const std::vector<std::int32_t>& part,
                     const Normalization& normalization, std::size_t groups, bool first_is_constant) {
  const auto size = static_cast<std::size_t>(data.shape.size());
  std::vector<double> sum(groups), squares(groups);
  std::vector<float> x(size);
  for (const auto index : part) {
    data.train.read(static_cast<std::size_t>(index), x.data());
    normalization.apply(data.shape, x.data());
    for (std::size_t i = 0; i < size; ++i) {
      sum[i * groups / size] += x[i];
      squares[i * groups / size] += double{x[i]} * x[i];
    }
  }
  const double n = static_cast<double>(part.size() * (size / groups));
  for (std::size_t g = 0; g < groups; ++g) {
    EXPECT_NEAR(sum[g] / n, 0.0, 1e-4);
    EXPECT_NEAR(squares[g] / n, g == 0 && first_is_constant ? 0.0 : 1.0, 1e-3);
  }
}

TEST(Normalization, TheTrainingPartGetsMeanZeroAndVarianceOne) {
  for (const bool as_bytes : {false, true}) {
    SCOPED_TRACE(as_bytes);
    const DataSet data = make_data({2, 3, 4}, 500, as_bytes);
    const auto part = every_second(500);
    expect_standard(data, part, pixel_statistics(data, part), 24, true);
    expect_standard(data, part, channel_statistics(data, part), 2, false);
  }
}

TEST(Normalization, PixelsThatNeverChangeGetAStandardDeviationOfOne) {
  for (const bool as_bytes : {false, true}) {
    const DataSet data = make_data({1, 2, 2}, 333, as_bytes);
    const Normalization result = pixel_statistics(data, every_second(333));
    EXPECT_EQ(result.std[0], 1.0f);
    EXPECT_EQ(result.mean[0], as_bytes ? 17.0f : 0.1f);
  }
}

TEST(Normalization, OnlyTheGivenPartCounts) {
  const DataSet data = make_data({1, 2, 2}, 100, true);
  const std::vector<std::int32_t> one{7};
  std::vector<float> x(4);
  data.train.read(7, x.data());
  EXPECT_EQ(pixel_statistics(data, one).mean, x);
}

TEST(Normalization, DefaultsGoByDataSet) {
  const auto part = every_second(20);
  const Normalization bytes = default_normalization(make_data({3, 2, 2}, 20, true), part);
  EXPECT_EQ(bytes.mean, std::vector<float>{0.0f});
  EXPECT_EQ(bytes.std, std::vector<float>{256.0f});
  EXPECT_EQ(default_normalization(make_data({3, 2, 2}, 20, true, "cifar10"), part).mean.size(), 12u);
  EXPECT_EQ(default_normalization(make_data({3, 2, 2}, 20, false), part).mean.size(), 3u);
}

TEST(Normalization, OptionsMeanWhatTheySay) {
  const DataSet data = make_data({3, 2, 2}, 20, true);
  const auto part = every_second(20);
  NormalizationOptions options;
  options.scale = 255;
  options.mean = {0.5, 0.4, 0.3};
  options.std = {0.25};
  const Normalization result = make_normalization(data, part, options);
  std::vector<float> x(12), raw(12);
  data.train.read(3, x.data());
  raw = x;
  result.apply(data.shape, x.data());
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(x[i], (raw[i] / 255.0 - options.mean[i / 4]) / 0.25, 1e-5);
  }
  NormalizationOptions per_pixel;
  per_pixel.per_pixel = true;
  EXPECT_EQ(make_normalization(data, part, per_pixel).mean, pixel_statistics(data, part).mean);
}

// By the definitions of those who trained with them; the last number of each is a pixel of 51, a fifth of
// white.
TEST(Normalization, NamesMeanWhatPeopleMeanByThem) {
  const auto of_a_fifth = [](const std::string& name, double white) {
    const NormalizationOptions options = named_normalization(name, white);
    const double mean = options.mean.empty() ? 0 : options.mean[0],
                 std = options.std.empty() ? 1 : options.std[0];
    return (white / 5 / *options.scale - mean) / std;
  };
  for (const double white : {255.0, 1.0}) {
    EXPECT_NEAR(of_a_fifth("0-255", white), 51, 1e-9);
    EXPECT_NEAR(of_a_fifth("0-1", white), 0.2, 1e-12);
    EXPECT_NEAR(of_a_fifth("-1..1", white), 51 / 127.5 - 1, 1e-12);
    EXPECT_NEAR(of_a_fifth("mnist", white), (0.2 - 0.1307) / 0.3081, 1e-12);
    EXPECT_NEAR(of_a_fifth("fashion-mnist", white), (0.2 - 0.2860) / 0.3530, 1e-12);
    EXPECT_NEAR(of_a_fifth("imagenet", white), (0.2 - 0.485) / 0.229, 1e-12);
    EXPECT_NEAR(of_a_fifth("cifar", white), (0.2 - 0.4914) / 0.2470, 1e-12);
  }
  EXPECT_EQ(*named_normalization("0-255").scale, 1.0);
  EXPECT_THAT(error_of([] { named_normalization("minst"); }), ::testing::HasSubstr("did you mean 'mnist'"));
}

TEST(Normalization, WhiteIsToldFromThePixels) {
  const auto with = [](std::vector<float> pixels) {
    DataSet data;
    data.shape = {1, 1, 2};
    data.train = Samples(data.shape, std::move(pixels), {0, 1});
    return data;
  };
  EXPECT_EQ(white_of(with({0, 0.5f, 1, 0})), 1.0);
  EXPECT_EQ(white_of(with({0, 17, 254, 0})), 255.0);
  EXPECT_EQ(white_of(with({0, -0.5f, 1, 0})), std::nullopt);
  EXPECT_EQ(white_of(with({0, 3, 700, 0})), std::nullopt);
  DataSet bytes = with({0, 0, 0, 0});
  bytes.train = Samples(bytes.shape, std::vector<std::uint8_t>{0, 1, 1, 0}, {0, 1});
  EXPECT_EQ(white_of(bytes), 255.0);
}

TEST(Normalization, BadOptionsAreRejected) {
  const DataSet data = make_data({3, 2, 2}, 20, true);
  const auto part = every_second(20);
  const auto message = [&](NormalizationOptions options) {
    return error_of([&] { make_normalization(data, part, options); });
  };
  EXPECT_THAT(message({.scale = 0.0, .mean = {}, .std = {}}), HasSubstr("--scale"));
  EXPECT_THAT(message({.scale = {}, .mean = {1, 2}, .std = {}}), HasSubstr("3x2x2"));
  EXPECT_THAT(message({.scale = {}, .mean = {}, .std = {0.0}}), HasSubstr("standard deviation"));
  EXPECT_THAT(message({.scale = {}, .mean = {}, .std = {-1.0}}), HasSubstr("standard deviation"));
  EXPECT_THAT(message({.scale = 2.0, .mean = {}, .std = {}, .per_pixel = true}), HasSubstr("--per-pixel"));
  EXPECT_THAT(error_of([&] { pixel_statistics(data, {}); }), HasSubstr("no training samples"));
}

TEST(Normalization, NumberLists) {
  EXPECT_EQ(parse_numbers("--mean", "0.5,-1,2e1"), (std::vector<double>{0.5, -1, 20}));
  for (const char* bad : {"", ",", "1,", "1,,2", "a", "1;2", "nan", "inf", "1 2"}) {
    SCOPED_TRACE(bad);
    EXPECT_THAT(error_of([&] { parse_numbers("--mean", bad); }), HasSubstr("--mean"));
  }
}

}  // namespace
}  // namespace lwsvm
