// Some of a source's samples, as a source of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"

#include "base/sample_source.h"

namespace lwsvm {

class SampleSubset final : public SampleSource {
 public:
  SampleSubset(const SampleSource& source, std::vector<std::int32_t> samples)
      : source_(source), samples_(std::move(samples)) {}

  std::int64_t size() const override { return std::ssize(samples_); }
  std::int32_t label(std::int64_t index) const override { return source_.label(at(index)); }
  void read(std::int64_t index, float* target) const override { source_.read(at(index), target); }

 private:
  std::int64_t at(std::int64_t index) const { return samples_[static_cast<std::size_t>(index)]; }

  const SampleSource& source_;
  std::vector<std::int32_t> samples_;
};

// `wanted` of 0..size-1, or all if there are fewer, in random order; the same every time.
inline std::vector<std::int32_t> random_samples(std::int64_t size, std::int64_t wanted, std::uint64_t seed,
                                                std::uint64_t stream) {
  Random random(seed, stream);
  std::vector<std::int32_t> samples = random_permutation(static_cast<std::size_t>(size), random);
  samples.resize(static_cast<std::size_t>(std::min(wanted, size)));
  return samples;
}

}  // namespace lwsvm
