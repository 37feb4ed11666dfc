#include "data/synthetic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <string_view>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"

namespace lwsvm {
namespace {

constexpr const char* kSyntheticPlace = "synthetic";
constexpr std::string_view kName = "synthetic";
constexpr std::uint64_t kPatternStream = 0x7061747465726e, kTrainStream = 0x747261696e,
                        kTestStream = 0x74657374;

// One pattern: for each channel, waves cos(2 pi (fy y/H + fx x/W) + phase). Whole frequencies make it
// periodic, so that a shift moves the pattern around the edge instead of bringing in something new.
struct Pattern {
  std::vector<float> values;  // CHW, variance about 1/2
};

std::vector<Pattern> make_patterns(const SyntheticOptions& options) {
  constexpr int kWaves = 3;
  const auto [channels, height, width] = options.shape;
  std::vector<Pattern> patterns(static_cast<std::size_t>(options.classes));
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    Random random(options.seed, kPatternStream, k);
    patterns[k].values.assign(static_cast<std::size_t>(options.shape.size()), 0.0f);
    for (int c = 0; c < channels; ++c) {
      for (int wave = 0; wave < kWaves; ++wave) {
        const double fy = static_cast<double>(random.below(4)),
                     fx = static_cast<double>(random.below(7)) - 3.0;
        const double phase = random.uniform(0.0, 2 * std::numbers::pi);
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x) {
            const double angle = 2 * std::numbers::pi * (fy * y / height + fx * x / width) + phase;
            patterns[k].values[(static_cast<std::size_t>(c) * height + y) * width + x] +=
                static_cast<float>(std::cos(angle) / std::sqrt(double{kWaves}));
          }
        }
      }
    }
  }
  return patterns;
}

int random_shift(int extent, Random& random) {
  const int max_shift = std::max(1, extent / 8);
  return static_cast<int>(random.below(2 * static_cast<std::uint64_t>(max_shift) + 1)) - max_shift +
         extent;  // not negative
}

void add_shifted(const Pattern& pattern, const ImageShape& shape, double weight, Random& random,
                 std::vector<double>& image) {
  const int dy = random_shift(shape.height, random), dx = random_shift(shape.width, random);
  std::size_t i = 0;
  for (int c = 0; c < shape.channels; ++c) {
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x, ++i) {
        const int from = (c * shape.height + (y + dy) % shape.height) * shape.width + (x + dx) % shape.width;
        image[i] += weight * pattern.values[static_cast<std::size_t>(from)];
      }
    }
  }
}

Samples make_samples(const SyntheticOptions& options, const std::vector<Pattern>& patterns, std::size_t count,
                     std::uint64_t stream) {
  const auto size = static_cast<std::size_t>(options.shape.size());
  std::vector<std::uint8_t> pixels(count * size);
  std::vector<std::int32_t> labels(count);
  std::vector<double> image(size);
  for (std::size_t i = 0; i < count; ++i) {
    stop_if_interrupted("loading the data");
    Random random(options.seed, stream, i);
    const std::size_t own = i % patterns.size();
    const std::size_t other = (own + 1 + random.below(patterns.size() - 1)) % patterns.size();
    std::fill(image.begin(), image.end(), 0.0);
    add_shifted(patterns[own], options.shape, random.uniform(0.4, 1.0), random, image);
    add_shifted(patterns[other], options.shape, random.uniform(0.0, 0.6), random, image);
    for (std::size_t p = 0; p < size; ++p) {
      const double value = 128 + 90 * image[p] + 20 * random.normal();
      pixels[i * size + p] = static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
    }
    labels[i] = static_cast<std::int32_t>(own);
  }
  return Samples(options.shape, std::move(pixels), std::move(labels));
}

template <typename T>
T parse_value(std::string_view key, std::string_view text) {
  T value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    fail(kSyntheticPlace, "{}={}: expected a whole number", key, text);
  }
  return value;
}

void set_option(SyntheticOptions& options, std::string_view key, std::string_view value) {
  if (key == "n") {
    options.train = parse_value<std::size_t>(key, value);
  } else if (key == "test") {
    options.test = parse_value<std::size_t>(key, value);
  } else if (key == "classes") {
    options.classes = parse_value<int>(key, value);
  } else if (key == "channels") {
    options.shape.channels = parse_value<int>(key, value);
  } else if (key == "seed") {
    options.seed = parse_value<std::uint64_t>(key, value);
  } else if (key == "size") {
    const std::size_t cross = value.find('x');  // "12" is square, "12x16" height x width
    options.shape.height = parse_value<int>(key, value.substr(0, cross));
    options.shape.width = cross == std::string_view::npos ? options.shape.height
                                                          : parse_value<int>(key, value.substr(cross + 1));
  } else {
    fail(kSyntheticPlace, "there is no option '{}'; known are n, test, classes, size, channels and seed",
         key);
  }
}

}  // namespace

void SyntheticOptions::validate() const {
  if (train == 0) fail(kSyntheticPlace, "n=0: a training set cannot be empty");
  if (classes < 2 || classes > 10000) fail(kSyntheticPlace, "classes={}: expected 2 to 10000", classes);
  if (shape.channels < 1 || shape.channels > 64)
    fail(kSyntheticPlace, "channels={}: expected 1 to 64", shape.channels);
  if (std::min(shape.height, shape.width) < 1 || std::max(shape.height, shape.width) > 1024) {
    fail(kSyntheticPlace, "size={}x{}: expected 1 to 1024 each way", shape.height, shape.width);
  }
  constexpr auto kMaxBytes = std::size_t{1} << 32;  // also keeps the sums below from overflowing
  const auto size = static_cast<std::size_t>(shape.size());
  if (train > kMaxBytes || test > kMaxBytes ||
      (train + test + static_cast<std::size_t>(classes)) > kMaxBytes / size) {
    fail(kSyntheticPlace, "{} + {} samples of {} take more than 4 GiB; take fewer or smaller ones", train,
         test, to_string(shape));
  }
}

bool is_synthetic(const std::string& name) {
  return name.starts_with(kName) && (name.size() == kName.size() || name[kName.size()] == ':');
}

SyntheticOptions parse_synthetic(const std::string& name) {
  LWSVM_CHECK(is_synthetic(name));
  SyntheticOptions options;
  std::string_view rest(name);
  rest.remove_prefix(std::min(rest.size(), kName.size() + 1));
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      fail(kSyntheticPlace, "'{}': expected options such as synthetic:n=2000,test=500,classes=4,size=12x12",
           item);
    }
    set_option(options, item.substr(0, equals), item.substr(equals + 1));
  }
  options.validate();
  return options;
}

DataSet make_synthetic(const SyntheticOptions& options) {
  options.validate();
  const std::vector<Pattern> patterns = make_patterns(options);
  Samples train = make_samples(options, patterns, options.train, kTrainStream);
  Samples test;
  if (options.test > 0) test = make_samples(options, patterns, options.test, kTestStream);
  return make_data_set(kSyntheticPlace, "synthetic", options.shape, std::move(train), std::move(test),
                       options.classes);
}

}  // namespace lwsvm
