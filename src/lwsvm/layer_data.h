// What the layer problem needs of every sample and never changes while a layer is open:
//   z          the open layer's input,
//   frontier   values that join its tail from beside (residual arms, other branches),
//   patterns   which linear pieces the frozen layers after it chose at w_t: bits and indices.
//
// Kept in memory where it fits the budget; otherwise z and the frontier are computed again for every chunk by
// running the network up to the layer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/sample_source.h"
#include "dc/tail.h"
#include "engine/threads.h"
#include "net/program.h"

namespace lwsvm {

class LayerInputs {
 public:
  // The source's samples are values of the node `from`, or of the network's input if that is -1.
  LayerInputs(const Graph& network, const Tail& tail, const SampleSource& source, int from, int chunk,
              std::uint64_t budget, const Threads& threads);

  bool cached() const { return cached_; }
  std::uint64_t bytes() const { return values_.size() * sizeof(float); }
  int parts() const { return static_cast<int>(sizes_.size()); }  // z, then the frontier
  std::int64_t size(int part) const { return sizes_[static_cast<std::size_t>(part)]; }

  // Part `p` of each sample to targets[p], sample after sample. At most `chunk` samples; called by workers.
  void fetch(std::span<const std::int32_t> samples, std::span<float* const> targets, int worker);
  // They are fetched next.
  void expect(std::span<const std::int32_t> samples) const {
    if (!cached_) source_.expect(samples);
  }
  // z alone.
  void fetch_inputs(std::span<const std::int32_t> samples, float* target, int worker);

 private:
  void run_prefix(std::span<const std::int32_t> samples, int worker);
  const float* prefix_part(int part, int worker) const;

  const SampleSource& source_;
  int chunk_;
  TensorSpec image_;  // as the source writes it
  Program prefix_;
  std::vector<Workspace> workspaces_;
  std::vector<AlignedBuffer<float>> images_;  // per worker: a chunk as the source writes it
  std::vector<std::int64_t> sizes_;
  std::int64_t row_ = 0;
  bool cached_ = false;
  AlignedBuffer<float> values_;  // samples x row
};

// Patterns of all samples, packed: one bit per element where one bit tells.
class PatternCache {
 public:
  PatternCache(std::vector<PatternSection> sections, std::int64_t samples);

  static std::uint64_t bytes_for(const std::vector<PatternSection>& sections, std::int64_t samples);
  std::uint64_t bytes() const { return packed_.size(); }
  // Between the sample's place in the cache and position `at` of a program's patterns.
  void store(std::int64_t sample, const std::uint8_t* patterns, int at);
  void load(std::int64_t sample, std::uint8_t* patterns, int at) const;

 private:
  std::vector<PatternSection> sections_;
  std::size_t row_ = 0;
  std::vector<std::uint8_t> packed_;
};

}  // namespace lwsvm
