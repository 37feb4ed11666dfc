// A sample source that ends what reads it at Ctrl-C: for work that comes before there is anything to save.
#pragma once

#include "base/interrupt.h"
#include "base/sample_source.h"

namespace lwsvm {

class InterruptibleSource final : public SampleSource {
 public:
  // `doing` is for the message, as in "stopped while `doing`". Both must outlive this.
  InterruptibleSource(const SampleSource& source, const char* doing) : source_(source), doing_(doing) {}

  std::int64_t size() const override { return source_.size(); }
  std::int64_t copies() const override { return source_.copies(); }
  std::int32_t label(std::int64_t index) const override { return source_.label(index); }
  void read(std::int64_t index, float* target) const override {
    if (armed_) stop_if_interrupted(doing_);
    source_.read(index, target);
  }

  // From now on Ctrl-C is for the reader to handle. Not while somebody reads.
  void disarm() { armed_ = false; }

 private:
  const SampleSource& source_;
  const char* doing_;
  bool armed_ = true;
};

}  // namespace lwsvm
