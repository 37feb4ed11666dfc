// What lies before the first layer that is opened never changes: run it once per sample and keep the result.
//
// With the last stage of a ResNet-20 open, every evaluation of F then costs a third; with the SVM layer alone
// open, next to nothing.
#pragma once

#include <cstdint>
#include <span>

#include "base/sample_source.h"
#include "engine/tensor.h"
#include "engine/threads.h"
#include "net/graph.h"

namespace lwsvm {

// The last node before all of `layers` through which every way to the scores leads; -1 if there is none, or
// if what comes before it is not worth keeping: less than a twentieth of the network's work.
int frozen_prefix(const Graph& network, std::span<const int> layers);

// The values of one node for all samples of a source, as samples of their own: a Program can begin there.
class PrefixSource final : public SampleSource {
 public:
  // The source must outlive this. Values are there once they have been computed.
  PrefixSource(const Graph& network, int node, const SampleSource& source);

  // By the network as it is; the source's samples are values of the node `from`, or of the network's input.
  void compute(const Graph& network, const Threads& threads, int from = -1);

  std::uint64_t bytes() const { return values_.size() * sizeof(float); }
  static std::uint64_t bytes_for(const Graph& network, int node, std::int64_t samples);

  std::int64_t size() const override { return source_.size(); }
  std::int64_t copies() const override { return source_.copies(); }
  std::int32_t label(std::int64_t index) const override { return source_.label(index); }
  void read(std::int64_t index, float* target) const override;

 private:
  const SampleSource& source_;
  int node_;
  std::int64_t row_;
  AlignedBuffer<float> values_;  // samples x row
};

}  // namespace lwsvm
