#include "data/normalization.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/nearest.h"
#include "data/split.h"

namespace lwsvm {
namespace {

constexpr const char* kNormalizationPlace = "normalization";

// Which of `values` numbers belongs to pixel i.
std::size_t value_index(std::size_t values, std::size_t channels, std::size_t plane, std::size_t i) {
  if (values == 1) return 0;
  return values == channels ? i / plane : i;
}

// Mean and variance in two passes. The first sample is subtracted before summing, so that values which all
// agree give a variance of exactly 0 and a large common offset costs no digits.
Normalization statistics(const DataSet& data, std::span<const std::int32_t> part, std::size_t groups) {
  if (part.empty())
    fail(kNormalizationPlace, "{}: no training samples to take mean and standard deviation from", data.name);
  const auto size = static_cast<std::size_t>(data.shape.size());
  const std::size_t plane = size / groups;
  std::vector<float> pixels(size);
  std::vector<double> origin(groups), mean(groups, 0.0), variance(groups, 0.0);
  const double count = static_cast<double>(part.size()) * static_cast<double>(plane);

  data.train.read(static_cast<std::size_t>(part[0]), pixels.data());
  for (std::size_t g = 0; g < groups; ++g) origin[g] = pixels[g * plane];

  const auto accumulate = [&](std::vector<double>& sums, auto&& term) {
    for (const std::int32_t index : part) {
      data.train.read(static_cast<std::size_t>(index), pixels.data());
      for (std::size_t g = 0; g < groups; ++g) {
        double sum = 0;
        for (std::size_t i = g * plane; i < (g + 1) * plane; ++i) sum += term(pixels[i], g);
        sums[g] += sum;
      }
    }
  };
  accumulate(mean, [&](float x, std::size_t g) { return x - origin[g]; });
  for (std::size_t g = 0; g < groups; ++g) mean[g] = origin[g] + mean[g] / count;
  accumulate(variance, [&](float x, std::size_t g) { return (x - mean[g]) * (x - mean[g]); });

  Normalization result{std::vector<float>(groups), std::vector<float>(groups), false};
  for (std::size_t g = 0; g < groups; ++g) {
    const auto deviation = static_cast<float>(std::sqrt(variance[g] / count));
    result.mean[g] = static_cast<float>(mean[g]);
    result.std[g] = deviation < std::numeric_limits<float>::min() ? 1.0f : deviation;
  }
  result.validate(data.shape);
  return result;
}

void check_size(const char* what, std::size_t values, const ImageShape& shape) {
  const auto channels = static_cast<std::size_t>(shape.channels),
             size = static_cast<std::size_t>(shape.size());
  if (values == 1 || values == channels || values == size) return;
  fail(kNormalizationPlace,
       "{} has {} values, but the images are {}; give 1, {} (per channel) or {} (per pixel)", what, values,
       to_string(shape), channels, size);
}

}  // namespace

void Normalization::validate(const ImageShape& shape) const {
  check_size("mean", mean.size(), shape);
  check_size("std", std.size(), shape);
  for (const float m : mean) {
    if (!std::isfinite(m)) fail(kNormalizationPlace, "a mean of {} is not a finite number", m);
  }
  for (const float s : std) {
    if (!std::isfinite(s) || s <= 0)
      fail(kNormalizationPlace, "a standard deviation of {} cannot be divided by", s);
  }
}

void Normalization::apply(const ImageShape& shape, float* sample) const {
  const auto size = static_cast<std::size_t>(shape.size()),
             channels = static_cast<std::size_t>(shape.channels);
  const std::size_t plane = size / channels;
  if (mean.size() == 1 && std.size() == 1) {
    for (std::size_t i = 0; i < size; ++i) sample[i] = (sample[i] - mean[0]) / std[0];
  } else if (mean.size() == size && std.size() == size) {
    for (std::size_t i = 0; i < size; ++i) sample[i] = (sample[i] - mean[i]) / std[i];
  } else {
    for (std::size_t i = 0; i < size; ++i) {
      const float m = mean[value_index(mean.size(), channels, plane, i)];
      sample[i] = (sample[i] - m) / std[value_index(std.size(), channels, plane, i)];
    }
  }
}

void NormalizationOptions::validate() const {
  if (per_pixel && (scale || !mean.empty() || !std.empty())) {
    fail(kNormalizationPlace,
         "--per-pixel takes mean and standard deviation from the data; drop --scale, --mean and --std");
  }
  if (scale && !(std::isfinite(*scale) && *scale > 0)) {
    fail(kNormalizationPlace,
         "--scale {}: pixels are divided by it, so it must be positive (255 brings bytes to 0..1)", *scale);
  }
}

std::span<const KnownNormalization> known_normalizations() {
  static const std::vector<KnownNormalization> known{
      {"0-255", 255, {}, {}},
      {"0-1", 1, {}, {}},
      {"-1..1", 1, {0.5}, {0.5}},
      {"mnist", 1, {0.1307}, {0.3081}, 1},
      {"fashion-mnist", 1, {0.2860}, {0.3530}, 1},
      {"imagenet", 1, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 3},
      {"cifar", 1, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}, 3},
      {"caffe", 255, {123.68, 116.779, 103.939}, {}, 3, true, true},
      {"caffe-rgb", 255, {123.68, 116.779, 103.939}, {}, 3, false, true}};
  return known;
}

NormalizationOptions KnownNormalization::options(double white) const {
  NormalizationOptions options;
  options.scale = white / white_becomes;
  options.mean = mean;
  options.std = std;
  options.reversed = reversed;
  return options;
}

bool fits(const KnownNormalization& known, const ImageShape& shape) {
  constexpr int photo = 64;
  if (known.for_photos && std::min(shape.height, shape.width) < photo) return false;
  return known.channels == 0 || known.channels == shape.channels;
}

NormalizationOptions named_normalization(const std::string& name, double white) {
  std::vector<std::string> names;
  for (const KnownNormalization& known : known_normalizations()) {
    if (known.name == name) return known.options(white);
    names.push_back(known.name);
  }
  fail_unknown(kNormalizationPlace, "normalisation", name, names);
}

std::optional<double> white_of(const DataSet& data) {
  if (data.train.holds_bytes()) return 255.0;
  constexpr std::size_t enough = 2000;
  std::vector<float> pixels(data.train.sample_size());
  float min = 0, max = 0;
  for (std::size_t i = 0; i < std::min(enough, data.train.size()); ++i) {
    data.train.read(i, pixels.data());
    const auto [low, high] = std::minmax_element(pixels.begin(), pixels.end());
    min = std::min(min, *low);
    max = std::max(max, *high);
  }
  if (min < 0 || max > 255) return std::nullopt;
  return max <= 1 ? 1.0 : 255.0;
}

Normalization pixel_statistics(const DataSet& data, std::span<const std::int32_t> part) {
  return statistics(data, part, static_cast<std::size_t>(data.shape.size()));
}

Normalization channel_statistics(const DataSet& data, std::span<const std::int32_t> part) {
  return statistics(data, part, static_cast<std::size_t>(data.shape.channels));
}

Normalization default_normalization(const DataSet& data, std::span<const std::int32_t> train_part) {
  if (recipe_of(data) == Recipe::cifar) return pixel_statistics(data, train_part);
  if (!data.train.holds_bytes()) return channel_statistics(data, train_part);
  return {{0.0f}, {256.0f}, false};
}

Normalization make_normalization(const DataSet& data, std::span<const std::int32_t> train_part,
                                 const NormalizationOptions& options) {
  options.validate();
  if (!options.given()) return default_normalization(data, train_part);
  if (options.per_pixel) return pixel_statistics(data, train_part);
  // (x / scale - mean) / std = (x - scale mean) / (scale std)
  const double scale = options.scale.value_or(1.0);
  Normalization result{{0.0f}, {static_cast<float>(scale)}, options.reversed};
  const auto scaled = [&](const std::vector<double>& values, std::vector<float>& out) {
    if (values.empty()) return;
    out.clear();
    for (const double value : values) out.push_back(static_cast<float>(scale * value));
  };
  scaled(options.mean, result.mean);
  scaled(options.std, result.std);
  result.validate(data.shape);
  return result;
}

std::vector<double> parse_numbers(const std::string& option, const std::string& text) {
  std::vector<double> numbers;
  const char *position = text.data(), *end = text.data() + text.size();
  while (true) {
    double value = 0;
    const auto result = std::from_chars(position, end, value);
    if (result.ec != std::errc() || !std::isfinite(value) || (result.ptr != end && *result.ptr != ',')) {
      fail(kNormalizationPlace, "{} {}: expected numbers with commas between them, such as 0.49,0.48,0.45",
           option, text);
    }
    numbers.push_back(value);
    if (result.ptr == end) return numbers;
    position = result.ptr + 1;
  }
}

}  // namespace lwsvm
