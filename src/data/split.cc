#include "data/split.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"

namespace lwsvm {
namespace {

constexpr std::uint64_t kSplitStream =
    0x73706c6974;  // "split": a stream of its own, whatever else uses the seed

template <typename T>
bool parse_all(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

Split split_samples(std::size_t count, std::size_t validation, std::uint64_t seed) {
  LWSVM_CHECK(validation <= count && count <= std::numeric_limits<std::int32_t>::max());
  Random random(seed, kSplitStream);
  const std::vector<std::int32_t> order = random_permutation(count, random);
  const auto cut = order.begin() + static_cast<std::ptrdiff_t>(validation);
  return {{cut, order.end()}, {order.begin(), cut}};
}

Recipe recipe_of(const DataSet& data) {
  if (data.name == "mnist" || data.name == "fashion-mnist") return Recipe::mnist;
  if (data.name == "cifar10" || data.name == "cifar100") return Recipe::cifar;
  if (data.name == "synthetic" || !data.train.holds_bytes()) return Recipe::other;
  if (data.shape == ImageShape{1, 28, 28} && data.train.size() == 60000) return Recipe::mnist;
  if (data.shape == ImageShape{3, 32, 32} && data.train.size() == 50000) return Recipe::cifar;
  return Recipe::other;
}

std::size_t default_validation_count(const DataSet& data) {
  const std::size_t count = data.train.size();
  const Recipe recipe = recipe_of(data);
  const std::size_t wanted = recipe == Recipe::mnist ? 10000 : recipe == Recipe::cifar ? 5000 : count / 10;
  return wanted <= count / 2 ? wanted : count / 10;  // a shortened copy of a known set
}

std::size_t parse_validation_count(const std::string& text, std::size_t samples) {
  std::uint64_t whole = 0;
  double fraction = 0;
  if (parse_all(text, whole)) {
    if (whole != 0 && whole >= samples) {
      fail("val", "--val {} leaves nothing of {} training samples to train on; take fewer", text, samples);
    }
    return static_cast<std::size_t>(whole);
  }
  if (!parse_all(text, fraction) || !(fraction >= 0 && fraction < 1)) {
    fail("val", "--val {}: expected a number of samples such as 5000, or a fraction below 1 such as 0.1",
         text);
  }
  return static_cast<std::size_t>(std::floor(fraction * static_cast<double>(samples)));
}

}  // namespace lwsvm
