// One rank's part of a source's samples: a run of images next to each other, with all their copies.
#pragma once

#include "base/sample_source.h"
#include "base/team.h"

namespace lwsvm {

class SamplePart final : public SampleSource {
 public:
  SamplePart(const SampleSource& source, const Team& team)
      : source_(source),
        images_(source.size() / source.copies()),
        first_(part_begin(images_, team.rank(), team.size())),
        own_(part_size(images_, team.rank(), team.size())) {}

  std::int64_t size() const override { return own_ * copies(); }
  std::int64_t copies() const override { return source_.copies(); }
  std::int32_t label(std::int64_t index) const override { return source_.label(at(index)); }
  void read(std::int64_t index, float* target) const override { source_.read(at(index), target); }

 private:
  std::int64_t at(std::int64_t index) const { return index / own_ * images_ + first_ + index % own_; }

  const SampleSource& source_;
  std::int64_t images_, first_, own_;
};

}  // namespace lwsvm
