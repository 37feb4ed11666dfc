// Samples as a network wants them: its normalisation applied, its channels where it expects them.
//
// Data sets are stored channels first. Networks from Keras take images channels last (28x28x1, 32x32x3), and
// some networks take no image at all but a list of pixels; those get it channels first.
#pragma once

#include <optional>

#include "base/sample_source.h"
#include "data/normalization.h"

namespace lwsvm {

struct Feed {
  ImageShape shape;                            // of the data
  std::optional<Normalization> normalization;  // absent: pixels as they are stored
  bool channels_last = false;
};

class FedSource final : public SampleSource {
 public:
  // Both must outlive this; the feed may still be set.
  FedSource(const SampleSource& source, const Feed& feed) : source_(source), feed_(feed) {}

  std::int64_t size() const override { return source_.size(); }
  std::int32_t label(std::int64_t index) const override { return source_.label(index); }
  void read(std::int64_t index, float* target) const override;

 private:
  const SampleSource& source_;
  const Feed& feed_;
};

// Whether an input of this shape takes such images: {C,H,W}, {H,W,C} or {C*H*W}; if so, the order is set.
bool suit(Feed& feed, const std::vector<std::int64_t>& input);

}  // namespace lwsvm
