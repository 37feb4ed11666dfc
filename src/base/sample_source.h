// Where samples come from, as far as the network is concerned: numbered, each with an image and a label.
//
// A data set, a split of it, or a set enlarged by transformed copies are all sources; nothing here knows
// which.
#pragma once

#include <cstdint>
#include <span>

namespace lwsvm {

class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual std::int64_t size() const = 0;
  // Transformed copies of every image, itself included: sample t * (size / copies) + i is copy t of image i.
  virtual std::int64_t copies() const { return 1; }
  virtual std::int32_t label(std::int64_t index) const = 0;
  // Writes one sample in channels_first order; called by several threads at once, allocates nothing.
  virtual void read(std::int64_t index, float* target) const = 0;
  // These are read next: whoever has them on a disk may begin to fetch them.
  virtual void expect(std::span<const std::int32_t> /*samples*/) const {}
};

}  // namespace lwsvm
