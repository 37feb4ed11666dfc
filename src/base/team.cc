#include "base/team.h"

#include <algorithm>

#include "base/error.h"

namespace lwsvm {
namespace {

class Alone final : public Team {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string name() const override { return "the only rank"; }
  void gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    std::ranges::copy(mine, all.begin());
  }
  void transpose(std::span<const float> mine, std::span<float> got) override {
    std::ranges::copy(mine, got.begin());
  }
};

template <typename T>
std::vector<T> gather_values(Team& team, std::span<const T> mine) {
  std::vector<T> all(mine.size() * static_cast<std::size_t>(team.size()));
  team.gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
  return all;
}

template <typename T>
std::vector<T> gather_value(Team& team, T mine) {
  return gather_values(team, std::span<const T>(&mine, 1));
}

double exact_product(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

Team& alone() {
  static Alone team;
  return team;
}

std::vector<double> gather(Team& team, std::span<const double> mine) {
  return gather_values(team, mine);
}

double sum(Team& team, double mine) {
  add_up(team, {&mine, 1});
  return mine;
}

std::int64_t sum(Team& team, std::int64_t mine) {
  std::int64_t total = 0;
  for (const std::int64_t value : gather_value(team, mine)) total += value;
  return total;
}

void add_up(Team& team, std::span<double> values) {
  if (team.is_alone()) return;
  const std::vector<double> all = gather(team, values);
  std::ranges::fill(values, 0.0);
  for (std::size_t i = 0; i < all.size(); ++i) values[i % values.size()] += all[i];
}

std::int64_t largest(Team& team, std::int64_t mine) {
  return team.is_alone() ? mine : std::ranges::max(gather_value(team, mine));
}

bool any(Team& team, bool mine) {
  if (team.is_alone()) return mine;
  return std::ranges::any_of(gather_value(team, static_cast<std::uint8_t>(mine)),
                             [](std::uint8_t value) { return value != 0; });
}

double of_first(Team& team, double mine) {
  return team.is_alone() ? mine : gather_value(team, mine).front();
}

void wait_for_all(Team& team) {
  any(team, false);
}

void VectorExchange::scatter(std::span<const float> mine) {
  const auto ranks = static_cast<std::size_t>(team_.size());
  length_ = mine.size();
  piece_ = (length_ + ranks - 1) / ranks;
  padded_.assign(piece_ * ranks, 0.0f);
  std::ranges::copy(mine, padded_.begin());
  slices_.resize(piece_ * ranks);
  team_.transpose(padded_, slices_);
}

std::vector<double> VectorExchange::gram() {
  const auto ranks = static_cast<std::size_t>(team_.size());
  std::vector<double> products(ranks * ranks);
  for (std::size_t k = 0; k < ranks; ++k)
    for (std::size_t l = 0; l <= k; ++l)
      products[k * ranks + l] = products[l * ranks + k] =
          exact_product(slice(static_cast<int>(k)), slice(static_cast<int>(l)), piece_);
  add_up(team_, products);
  return products;
}

void VectorExchange::combine(std::span<const double> factors, std::span<float> result) {
  LWSVM_CHECK(std::ssize(factors) == team_.size() && result.size() == length_);
  sum_.resize(piece_);
  for (std::size_t i = 0; i < piece_; ++i) {
    double total = 0;
    for (int k = 0; k < team_.size(); ++k)
      total += factors[static_cast<std::size_t>(k)] * static_cast<double>(slice(k)[i]);
    sum_[i] = static_cast<float>(total);
  }
  team_.gather(std::as_bytes(std::span(sum_)), std::as_writable_bytes(std::span(padded_)));
  std::copy_n(padded_.begin(), length_, result.begin());
}

}  // namespace lwsvm
