// What the SVM layer computes with its inputs z_i, dense or sparse:
//
//   scores    W z_i                                  of a batch
//   gram      <z_i, z_j>                             among some samples of that batch
//   combine   sum_i slope_i (x) z_i                  over the same samples
//
// Dense inputs are matrices and the three are matrix products; sparse ones touch nothing but their entries.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/sparse_rows.h"
#include "engine/threads.h"

namespace lwsvm {

// Where dense inputs come from: kept in memory, or computed for each batch.
class FeatureRows {
 public:
  virtual ~FeatureRows() = default;
  virtual std::int64_t samples() const = 0;
  virtual std::int64_t width() const = 0;
  // The rows of these samples as a matrix: written to the buffer (samples x width), or where they lie
  // already.
  virtual const float* rows(std::span<const std::int32_t> samples, std::span<float> buffer) = 0;
};

// N x q, row-major, looked at.
class DenseFeatures final : public FeatureRows {
 public:
  DenseFeatures(const float* data, std::int64_t samples, std::int64_t width)
      : data_(data), samples_(samples), width_(width) {}
  std::int64_t samples() const override { return samples_; }
  std::int64_t width() const override { return width_; }
  const float* rows(std::span<const std::int32_t> samples, std::span<float> buffer) override;

 private:
  const float* data_;
  std::int64_t samples_, width_;
};

class InputProducts {
 public:
  virtual ~InputProducts() = default;
  virtual std::int64_t samples() const = 0;
  virtual std::int64_t width() const = 0;
  virtual bool is_dense() const = 0;
  // out (batch x outputs) = Z W'; weights: outputs x width.
  virtual void scores(std::span<const std::int32_t> batch, const float* weights, std::int64_t outputs,
                      float* out) = 0;
  // Which samples of the last scores() the next two are about: their positions in its batch, rising.
  virtual void select(std::span<const std::int32_t> positions) = 0;
  virtual const float* selected_rows() const = 0;  // dense ones, selected x width
  virtual void gram(float* out) = 0;               // selected x selected
  // out (outputs x width); slopes: selected x outputs.
  virtual void combine(const float* slopes, std::int64_t outputs, float* out) = 0;
};

// Both look at what they are given.
std::unique_ptr<InputProducts> dense_products(FeatureRows& features, const Threads& threads);
std::unique_ptr<InputProducts> sparse_products(const SparseRows& rows, const Threads& threads);

}  // namespace lwsvm
