// Oracle in label form: the problem whose scores are linear in w, with blocks that remember a point of the
// simplex.
//
//   s_i(w) = J_i w + c_i                       (the network after the open layer has its activations frozen)
//   H_i(w) = max_y Delta(y, y_i) + s_iy(w) - s_iy_i(w)
//   plane of a simplex point alpha: psi = J_i^T (alpha - e_{y_i}),   so   d_b = J_b^T (e_{y*} - alpha_b)
//
// A LabelModel supplies the scores and the backward map seeds -> J^T seeds; everything else is here. J and c
// must not change while the blocks live; where they do (a new linearisation) make a new oracle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/margin_matrix.h"
#include "ssvm/label_blocks.h"
#include "ssvm/oracle.h"

namespace lwsvm {

class LabelModel {
 public:
  virtual ~LabelModel() = default;
  virtual std::int64_t dimension() const = 0;
  // out (batch x classes): the scores of these samples at w.
  virtual void scores(std::span<const std::int32_t> samples, const Weights& w, std::span<float> out) = 0;
  // d_k = J^T seeds_k for some of the samples of the last scores(): those at these positions, rising, of its
  // batch. seeds: positions x classes. There may be no positions at all.
  virtual const Directions& backward(std::span<const std::int32_t> samples,
                                     std::span<const std::int32_t> positions,
                                     std::span<const float> seeds) = 0;
  // What backward() returns, where that is always short.
  virtual const FactoredDirections* short_directions() const { return nullptr; }
};

class LabelOracle final : public Oracle {
 public:
  // The labels and the model are looked at, not copied.
  LabelOracle(LabelModel& model, std::span<const std::int32_t> labels, MarginMatrix margin,
              int evaluation_batch = 256);

  std::int64_t samples() const override { return blocks_.samples(); }
  std::int64_t blocks() const override { return blocks_.samples(); }
  std::int64_t dimension() const override { return model_.dimension(); }
  const Directions& find_planes(std::span<const std::int32_t> samples, const Weights& w,
                                std::span<double> losses, std::span<double> gaps) override;
  void commit(std::span<const float> steps) override;
  const FactoredDirections* short_directions() const override { return model_.short_directions(); }
  void begin_round() override { blocks_.begin_round(); }
  void finish_round(double share) override { blocks_.finish_round(share); }
  double mean_loss(const Weights& w) override;
  void visit(StateArchive& archive) override { blocks_.visit(archive); }
  std::uint64_t block_bytes() const override { return blocks_.bytes(); }

  const LabelBlocks& points() const { return blocks_; }

 private:
  LabelModel& model_;
  MarginMatrix margin_;
  LabelBlocks blocks_;
  int evaluation_batch_;
  std::vector<std::int32_t> batch_, found_;  // the last find_planes: samples, and the label that attains H
  std::vector<std::int32_t> positions_;      // of the samples with a gap
  std::vector<float> scores_, seeds_;
};

// Adds Delta(., truth) to the scores in place and returns the class that attains the maximum: on ties the
// true one (then nothing is violated, and its zero plane is the one to find), or else the lowest index.
int augment(const MarginMatrix& margin, int truth, float* scores);

}  // namespace lwsvm
