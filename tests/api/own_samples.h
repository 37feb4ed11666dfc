// Samples that are made in memory, as a user of the library would: images of noise with a bright bar, whose
// row is the class.
#pragma once

#include <cstdint>

#include "lwsvm/data.h"

namespace lwsvm {

class Bars final : public SampleReader {
 public:
  Bars(std::int64_t count, std::uint32_t seed) : count_(count), seed_(seed) {}

  static constexpr int kClasses = 3, kSide = 6;

  std::int64_t size() const override { return count_; }
  int label(std::int64_t index) const override { return static_cast<int>(index % kClasses); }
  void read(std::int64_t index, float* values) const override {
    std::uint32_t state = seed_ + static_cast<std::uint32_t>(index) * 2654435761u;
    for (int i = 0; i < kSide * kSide; ++i) {
      state = state * 1664525u + 1013904223u;
      values[i] = static_cast<float>(state >> 16) / 65536.0f;
    }
    for (int x = 0; x < kSide; ++x) values[label(index) * 2 * kSide + x] += 0.25f;
  }

 private:
  std::int64_t count_;
  std::uint32_t seed_;
};

inline Data bars() {
  const Bars train(240, 1), test(60, 2);
  return Data::copy({.shape = {1, Bars::kSide, Bars::kSide}, .classes = 3, .train = &train, .test = &test});
}

inline const char* const kSmallNet = "conv4x3-relu-dense8-relu";

}  // namespace lwsvm
