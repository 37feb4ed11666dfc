// Label form of the blocks: for each sample a point alpha_i of the simplex over the classes, stored sparse.
//
// For samples whose scores are linear in w, s_i(w) = J_i w + c_i, the block's plane is
//   psi_i = J_i^T (alpha_i - e_{y_i}),   ell_i = <alpha_i, Delta(., y_i) + c_i> - c_{i, y_i}
// so alpha_i is all there is to remember. It starts at e_{y_i}, the zero plane.
//
// The weight of the true label is implicit (one minus the others), so the points sum to one by construction
// and a sample that never violated its margin stores nothing. The other non-zero weights are a list, ordered
// by label, in a pool shared by all samples: 4 bytes per sample and 12 bytes per stored weight, hence at most
// 16 bytes per sample and non-zero. Entries are recycled; when an eighth of the pool lies idle it is packed.
// Departs from [BZK17], which stores a vector of the layer's output size for each sample.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ssvm/state_archive.h"

namespace lwsvm {

class LabelBlocks {
 public:
  // The labels are looked at, not copied: they must outlive the blocks.
  LabelBlocks(std::span<const std::int32_t> labels, int classes);

  std::int64_t samples() const { return std::ssize(first_); }
  int classes() const { return classes_; }
  int label(std::int64_t sample) const { return labels_[static_cast<std::size_t>(sample)]; }

  // One minus the true label's weight: exact where 1 - weight would have lost its digits.
  double other_weight(std::int64_t sample) const;
  double true_weight(std::int64_t sample) const;
  bool at_true_label(std::int64_t sample) const { return first_[static_cast<std::size_t>(sample)] == kNone; }
  // <alpha, values> over all classes.
  double dot(std::int64_t sample, const float* values) const;
  // The whole point, zeros included.
  void read(std::int64_t sample, std::span<float> point) const;

  // alpha += step (e_label - alpha).
  void blend(std::int64_t sample, int label, float step);
  // Replaces the point; the entry of the true label is ignored, being implied by the others.
  void write(std::int64_t sample, std::span<const float> point);

  // Between the two every sample is moved at most once; then each goes back all but `share` of its way.
  void begin_round();
  void finish_round(double share);

  std::uint64_t nonzeros() const;  // the true label's included
  std::uint64_t bytes() const;
  void visit(StateArchive& archive);

 private:
  struct Entry {
    float weight;
    std::uint32_t label;
    std::uint32_t next;
  };
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::uint32_t kChunkBits = 10, kChunk = 1u << kChunkBits;

  Entry& entry(std::uint32_t index) { return pool_[index >> kChunkBits][index & (kChunk - 1)]; }
  const Entry& entry(std::uint32_t index) const { return pool_[index >> kChunkBits][index & (kChunk - 1)]; }
  std::uint32_t allocate(float weight, std::uint32_t label, std::uint32_t next);
  void release(std::uint32_t index);
  void pack_if_idle();
  void remember(std::int64_t sample);

  // The points as they were, of the samples that have moved in this round.
  struct Earlier {
    bool kept = false;
    std::vector<std::int64_t> samples;
    std::vector<std::uint32_t> ends;  // of each sample's entries in the two below
    std::vector<std::uint32_t> labels;
    std::vector<float> weights;
  };

  std::span<const std::int32_t> labels_;
  int classes_;
  std::vector<std::uint32_t> first_;  // head of each sample's list
  std::vector<std::unique_ptr<Entry[]>> pool_;
  std::uint32_t used_ = 0;  // entries of the pool ever handed out
  std::uint32_t idle_ = kNone, idle_count_ = 0;
  Earlier earlier_;
};

}  // namespace lwsvm
