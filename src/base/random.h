// Random numbers that are the same on every machine and with every standard library.
//
// xoshiro256** (Blackman and Vigna, 2018) seeded through SplitMix64. The standard library's engines are
// portable but its distributions are not, so the distributions are ours.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lwsvm {

class Random {
 public:
  using State = std::array<std::uint64_t, 4>;

  explicit Random(std::uint64_t seed);
  // An independent stream for one purpose: the same (seed, purpose, index) gives the same numbers.
  Random(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index = 0);
  explicit Random(const State& state) : state_(state) {}

  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound);  // uniform in 0..bound-1, without bias
  double uniform();                          // in [0, 1), 53 bits
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal();  // mean 0, variance 1

  const State& state() const { return state_; }

 private:
  State state_;
};

// Fisher-Yates: 0..n-1 in random order.
std::vector<std::int32_t> random_permutation(std::size_t n, Random& random);

}  // namespace lwsvm
