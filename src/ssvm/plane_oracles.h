// Oracles whose blocks remember their plane itself.
//
// FactoredOracle: a dense layer with outputs u_i = W z_i + b. Every plane is
//     psi = delta (x) (z_i, 1),   <psi, w> = <delta, u_i>                                    [BZK17, Prop. 5]
//   so a block stores delta_i (p numbers) and ell_i. Its model supplies, per sample, z, u, delta* and ell* of
//   the plane that attains H_i = <delta*, u> + ell*.
// ExplicitOracle: anything; a block stores psi_i (n numbers) and ell_i. Its model supplies psi* and ell*; a
//   block may be a group of samples with the sums of theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ssvm/oracle.h"

namespace lwsvm {

// One batch of planes, row by row; vectors sized by the oracle before the model fills them.
struct FactoredPlanes {
  const float* inputs = nullptr;  // batch x q: z, where it lies; left null when the model fills input_buffer
  std::span<float> input_buffer;  // batch x q
  std::span<float> outputs;       // batch x p: u = W z + b at w
  std::span<float> slopes;        // batch x p: delta*
  std::span<double> offsets;      // batch: ell*
};

class FactoredModel {
 public:
  virtual ~FactoredModel() = default;
  virtual std::int64_t samples() const = 0;
  virtual std::int64_t outputs() const = 0;  // p
  virtual std::int64_t inputs() const = 0;   // q
  virtual Bias bias() const { return Bias::yes; }
  virtual void planes(std::span<const std::int32_t> samples, const Weights& w, FactoredPlanes& out) = 0;
  // mean_i H_i(w), of a model that knows it without its planes.
  virtual std::optional<double> mean_loss(const Weights& /*w*/) { return {}; }
};

struct ExplicitPlanes {
  std::span<float> rows;      // batch x n: psi*
  std::span<double> offsets;  // batch: ell*
};

class ExplicitModel {
 public:
  virtual ~ExplicitModel() = default;
  virtual std::int64_t samples() const = 0;
  virtual std::int64_t blocks() const { return samples(); }
  virtual std::int64_t dimension() const = 0;
  virtual void planes(std::span<const std::int32_t> blocks, const Weights& w, ExplicitPlanes& out) = 0;
  virtual std::optional<double> mean_loss(const Weights& /*w*/) { return {}; }  // as above
};

// Rows (of slopes, or of psi) and offsets as they were before the blocks moved, while somebody wants to know.
class EarlierRows {
 public:
  void begin();
  void remember(std::int32_t block, std::span<const float> row, double offset);
  // What has moved since goes back all but `share` of its way.
  void finish(double share, std::span<float> rows, std::span<double> offsets);

 private:
  bool kept_ = false;
  std::vector<std::int32_t> blocks_;
  std::vector<float> rows_;
  std::vector<double> offsets_;
};

class FactoredOracle final : public Oracle {
 public:
  FactoredOracle(FactoredModel& model, const Threads& threads, int evaluation_batch = 256);

  std::int64_t samples() const override { return model_.samples(); }
  std::int64_t blocks() const override { return model_.samples(); }
  std::int64_t dimension() const override { return directions_.dimension(); }
  const Directions& find_planes(std::span<const std::int32_t> samples, const Weights& w,
                                std::span<double> losses, std::span<double> gaps) override;
  void commit(std::span<const float> steps) override;
  const FactoredDirections* short_directions() const override { return &directions_; }
  void begin_round() override { earlier_.begin(); }
  void finish_round(double share) override;
  double mean_loss(const Weights& w) override;
  void visit(StateArchive& archive) override;
  std::uint64_t block_bytes() const override { return slopes_.size() * 4 + offsets_.size() * 8; }

 private:
  void ask(std::span<const std::int32_t> samples, const Weights& w);

  FactoredModel& model_;
  int evaluation_batch_;
  EarlierRows earlier_;
  std::vector<float> slopes_;    // N x p: delta_i
  std::vector<double> offsets_;  // N: ell_i
  FactoredDirections directions_;
  FactoredPlanes planes_;
  std::vector<std::int32_t> batch_;
  std::vector<float> found_inputs_, found_outputs_, found_slopes_;
  std::vector<float> moving_slopes_, moving_inputs_;  // rows of the samples with a gap
  std::vector<double> found_offsets_;
};

class ExplicitOracle final : public Oracle {
 public:
  ExplicitOracle(ExplicitModel& model, const Threads& threads, int evaluation_batch = 16);

  std::int64_t samples() const override { return model_.samples(); }
  std::int64_t blocks() const override { return model_.blocks(); }
  std::int64_t dimension() const override { return model_.dimension(); }
  const Directions& find_planes(std::span<const std::int32_t> blocks, const Weights& w,
                                std::span<double> losses, std::span<double> gaps) override;
  void commit(std::span<const float> steps) override;
  void begin_round() override { earlier_.begin(); }
  void finish_round(double share) override;
  double mean_loss(const Weights& w) override;
  void visit(StateArchive& archive) override;
  std::uint64_t block_bytes() const override { return rows_.size() * 4 + offsets_.size() * 8; }

 private:
  void ask(std::span<const std::int32_t> blocks, const Weights& w);

  ExplicitModel& model_;
  Threads threads_;
  int evaluation_batch_;
  EarlierRows earlier_;
  std::vector<float> rows_;      // blocks x n: psi_b
  std::vector<double> offsets_;  // blocks: ell_b
  ExplicitDirections directions_;
  std::vector<std::int32_t> batch_;
  std::vector<float> found_rows_;      // from find_planes on, directions: those of blocks with a gap, packed
  std::vector<std::int32_t> rows_of_;  // block of the batch -> its row, -1: no gap
  std::vector<double> found_offsets_;
};

}  // namespace lwsvm
