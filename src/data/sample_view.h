// Part of a data set, in a given order, as a source of samples: what a split or a test set looks like to a
// network.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "base/sample_source.h"
#include "data/dataset.h"

namespace lwsvm {

class SampleView final : public SampleSource {
 public:
  // The samples must outlive the view.
  SampleView(const Samples& samples, std::vector<std::int32_t> indices)
      : samples_(samples), indices_(std::move(indices)) {}
  explicit SampleView(const Samples& samples) : samples_(samples), indices_(samples.size()) {
    std::iota(indices_.begin(), indices_.end(), 0);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  std::int32_t label(std::int64_t index) const override { return samples_.labels()[original(index)]; }
  void read(std::int64_t index, float* target) const override { samples_.read(original(index), target); }

 private:
  std::size_t original(std::int64_t index) const {
    return static_cast<std::size_t>(indices_[static_cast<std::size_t>(index)]);
  }
  const Samples& samples_;
  std::vector<std::int32_t> indices_;
};

}  // namespace lwsvm
