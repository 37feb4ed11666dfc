// The directions of one batch, d_b = psi*_b - psi_b: from each block's current plane to the one its oracle
// found.
//
// The steps of a batch need only their Gram matrix, and w only their weighted sum:
//
//   gram     G_bb' = <d_b, d_b'>
//   combine  sum_b step_b d_b
//
// FactoredDirections: d_b = delta_b (x) (z_b, 1), a dense layer with inputs z_b and slope delta_b at its
// outputs;
//   G = (D D^T) .* (Z Z^T + 1)                                                               [BZK17, Prop. 5]
// ExplicitDirections: the rows of a B x n matrix R; G = R R^T.
// Both look at memory that their maker owns and must keep as long as they are used.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/threads.h"

namespace lwsvm {

class Directions {
 public:
  virtual ~Directions() = default;
  virtual int count() const = 0;
  virtual std::int64_t dimension() const = 0;
  virtual void gram(std::span<float> out) const = 0;  // count x count
  virtual void combine(std::span<const float> steps, std::span<float> out) const = 0;
};

enum class Bias : bool { no, yes };

class FactoredDirections final : public Directions {
 public:
  FactoredDirections(std::int64_t outputs, std::int64_t inputs, Bias bias, const Threads& threads)
      : outputs_(outputs), inputs_(inputs), bias_(bias), threads_(threads) {}

  void set_batch(int count, const float* slopes, const float* inputs) {
    count_ = count;
    slope_rows_ = slopes;
    input_rows_ = inputs;
  }

  std::int64_t outputs() const { return outputs_; }
  std::int64_t inputs() const { return inputs_; }
  Bias bias() const { return bias_; }
  const float* slope_row(int b) const { return slope_rows_ + b * outputs_; }
  const float* input_row(int b) const { return input_rows_ + b * inputs_; }

  int count() const override { return count_; }
  std::int64_t dimension() const override { return outputs_ * (inputs_ + (bias_ == Bias::yes ? 1 : 0)); }
  void gram(std::span<float> out) const override;
  void combine(std::span<const float> steps, std::span<float> out) const override;

 private:
  std::int64_t outputs_, inputs_;
  Bias bias_;
  Threads threads_;
  int count_ = 0;
  const float* slope_rows_ = nullptr;  // count x outputs: delta
  const float* input_rows_ = nullptr;  // count x inputs: z
  mutable std::vector<float> scratch_;
};

class ExplicitDirections final : public Directions {
 public:
  ExplicitDirections(std::int64_t dimension, const Threads& threads)
      : dimension_(dimension), threads_(threads) {}

  void set_batch(int count, const float* rows) {
    count_ = count;
    rows_ = rows;
  }

  int count() const override { return count_; }
  std::int64_t dimension() const override { return dimension_; }
  void gram(std::span<float> out) const override;
  void combine(std::span<const float> steps, std::span<float> out) const override;

 private:
  std::int64_t dimension_;
  Threads threads_;
  int count_ = 0;
  const float* rows_ = nullptr;  // count x dimension
};

}  // namespace lwsvm
