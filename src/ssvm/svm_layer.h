// The SVM layer: blocks solved exactly instead of by a Frank-Wolfe step.
//
//   scores  s_i = W z_i + b
//   planes  psi_i = (alpha_i - e_{y_i}) (x) (z_i, 1),   ell_i = <alpha_i, Delta(., y_i)>
//
// With the other blocks fixed, moving alpha_i to a raises N D by
//
//   <a - alpha_i, Delta(., y_i) + s_i> - kappa K_ii / 2 ||a - alpha_i||^2,      K_ij = <z_i, z_j> + 1
//
// whose maximum over the simplex is the projection of alpha_i + (Delta(., y_i) + s_i) / (kappa K_ii). This is
// Crammer and Singer's machine [CS01] solved as in [KSCHL08] and LIBLINEAR, for any Delta and with an anchor.
// In a batch: the scores at once; K at once, among the samples that have a gap; then a few sweeps of
// projections, each change carried to the other scores through K; then the result is applied to w, at once
// (input_products.h). Departs
// from [BZK17], which takes Frank-Wolfe steps here too.
//
// A batch of several ranks (joint_batch.h) is solved in the same way: each sample that has a gap is told of
// with its z, its scores and its alpha, and every rank projects all of them.
//
// Only where nothing but the weights and the bias stands between z and the loss: otherwise J J^T is not a
// multiple of the identity, and the label form applies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/margin_matrix.h"
#include "ssvm/block_ascent.h"
#include "ssvm/directions.h"
#include "ssvm/input_products.h"
#include "ssvm/label_blocks.h"

namespace lwsvm {

struct SvmLayerOptions {
  Bias bias = Bias::yes;
  int sweeps = 10;       // at most, over the samples of a batch that have a gap
  double enough = 0.02;  // stop sweeping when a sweep gained less than this fraction of the batch's gain
};

class SvmLayer final : public BlockAscent {
 public:
  // Features and labels are looked at. w is C x q, row-major, then the C biases.
  SvmLayer(FeatureRows& features, std::span<const std::int32_t> labels, MarginMatrix margin,
           const Threads& threads, const SvmLayerOptions& options = {});
  SvmLayer(const SparseRows& features, std::span<const std::int32_t> labels, MarginMatrix margin,
           const Threads& threads, const SvmLayerOptions& options = {});

  std::int64_t samples() const override { return blocks_.samples(); }
  std::int64_t blocks() const override { return blocks_.samples(); }
  std::int64_t dimension() const override;
  BatchReport improve(std::span<const std::int32_t> samples, const DualState& state,
                      std::span<float> psi_change, std::span<double> gaps) override;
  bool can_join() const override { return inputs_->is_dense(); }
  BatchReport improve_jointly(std::span<const std::int32_t> samples, const DualState& state,
                              JointBatch& batch, std::span<float> psi_change,
                              std::span<double> gaps) override;
  void begin_round() override { blocks_.begin_round(); }
  void finish_round(double share) override { blocks_.finish_round(share); }
  double mean_loss(const Weights& w) override;
  void visit(StateArchive& archive) override { blocks_.visit(archive); }
  std::uint64_t block_bytes() const override { return blocks_.bytes(); }

  const LabelBlocks& points() const { return blocks_; }

 private:
  SvmLayer(std::unique_ptr<InputProducts> inputs, std::span<const std::int32_t> labels, MarginMatrix margin,
           const SvmLayerOptions& options);
  void score(std::span<const std::int32_t> samples, std::span<const float> w);
  void look(std::span<const std::int32_t> samples, const DualState& state, std::span<double> gaps,
            BatchReport& report);
  void gather_active(std::span<const std::int32_t> samples, std::span<const double> gaps);
  void tell(JointBatch& batch);
  void make_points();
  void sweep_projections(double dual_scale);
  void apply(std::int64_t first, BatchReport& report);

  std::unique_ptr<InputProducts> inputs_;
  MarginMatrix margin_;
  LabelBlocks blocks_;
  SvmLayerOptions options_;
  std::vector<float> scores_;  // batch x C: with Delta added, once seen

  // The samples of the batch that have a gap; `active_` this rank's, all else those of all ranks.
  std::vector<std::int32_t> active_, truths_;
  std::vector<double> told_truths_;
  std::vector<float> augmented_;  // C x active: Delta + scores, kept current
  std::vector<float> kernel_;     // active x active
  std::vector<float> before_;     // active x C: alpha; later its change
  std::vector<double> points_;    // active x C: alpha, moving; the true label's weight needs the digits
  std::vector<double> target_, projection_;  // C
  std::vector<float> stored_;                // C
  std::vector<float> rows_, own_kernel_;     // of a joint batch
};

}  // namespace lwsvm
