#include "ssvm/plane_oracles.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/simd.h"
#include "ssvm/vector_math.h"

namespace lwsvm {
namespace {

// out += factor x
LWSVM_SIMD void add_scaled(std::int64_t size, float factor, const float* __restrict x,
                           float* __restrict out) {
  for (std::int64_t j = 0; j < size; ++j) out[j] += factor * x[j];
}

// body(batch) over 0..count-1 in order.
template <typename Body>
void for_batches(std::int64_t count, int size, const Body& body) {
  std::vector<std::int32_t> batch;
  for (std::int64_t begin = 0; begin < count; begin += size) {
    batch.resize(static_cast<std::size_t>(std::min<std::int64_t>(size, count - begin)));
    std::iota(batch.begin(), batch.end(), static_cast<std::int32_t>(begin));
    body(std::span<const std::int32_t>(batch));
  }
}

}  // namespace

void EarlierRows::begin() {
  *this = {};
  kept_ = true;
}

void EarlierRows::remember(std::int32_t block, std::span<const float> row, double offset) {
  if (!kept_) return;
  blocks_.push_back(block);
  rows_.insert(rows_.end(), row.begin(), row.end());
  offsets_.push_back(offset);
}

void EarlierRows::finish(double share, std::span<float> rows, std::span<double> offsets) {
  kept_ = false;
  if (share == 1 || blocks_.empty()) return;
  const std::size_t n = rows_.size() / blocks_.size();
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    const auto block = static_cast<std::size_t>(blocks_[k]);
    const float* before = rows_.data() + k * n;
    float* row = rows.data() + block * n;
    for (std::size_t j = 0; j < n; ++j)
      row[j] = static_cast<float>(before[j] + share * (static_cast<double>(row[j]) - before[j]));
    offsets[block] = offsets_[k] + share * (offsets[block] - offsets_[k]);
  }
}

FactoredOracle::FactoredOracle(FactoredModel& model, const Threads& threads, int evaluation_batch)
    : model_(model),
      evaluation_batch_(evaluation_batch),
      slopes_(static_cast<std::size_t>(model.samples() * model.outputs()), 0.0f),
      offsets_(static_cast<std::size_t>(model.samples()), 0.0),
      directions_(model.outputs(), model.inputs(), model.bias(), threads) {}

void FactoredOracle::ask(std::span<const std::int32_t> samples, const Weights& w) {
  const std::size_t count = samples.size();
  const auto p = static_cast<std::size_t>(model_.outputs()), q = static_cast<std::size_t>(model_.inputs());
  found_inputs_.resize(count * q);
  found_outputs_.resize(count * p);
  found_slopes_.resize(count * p);
  found_offsets_.resize(count);
  planes_ = {nullptr, found_inputs_, found_outputs_, found_slopes_, found_offsets_};
  model_.planes(samples, w, planes_);
  if (planes_.inputs == nullptr) planes_.inputs = found_inputs_.data();
}

const Directions& FactoredOracle::find_planes(std::span<const std::int32_t> samples, const Weights& w,
                                              std::span<double> losses, std::span<double> gaps) {
  const std::int64_t p = model_.outputs();
  batch_.assign(samples.begin(), samples.end());
  ask(samples, w);
  for (std::size_t b = 0; b < samples.size(); ++b) {
    float* found = found_slopes_.data() + b * p;
    const float* own = slopes_.data() + samples[b] * p;
    const float* output = found_outputs_.data() + b * p;
    losses[b] = exact_dot(found, output, p) + found_offsets_[b];
    gaps[b] = losses[b] - exact_dot(own, output, p) - offsets_[samples[b]];
    add_scaled(p, -1.0f, own, found);  // from here on the direction
  }
  const std::int64_t q = model_.inputs();
  moving_slopes_.clear();
  moving_inputs_.clear();
  int moving = 0;
  for (std::size_t b = 0; b < samples.size(); ++b) {
    if (!(gaps[b] > 0)) continue;
    const float* slope = found_slopes_.data() + b * p;
    const float* input = planes_.inputs + b * q;
    moving_slopes_.insert(moving_slopes_.end(), slope, slope + p);
    moving_inputs_.insert(moving_inputs_.end(), input, input + q);
    ++moving;
  }
  directions_.set_batch(moving, moving_slopes_.data(), moving_inputs_.data());
  return directions_;
}

void FactoredOracle::commit(std::span<const float> steps) {
  LWSVM_CHECK(steps.size() == batch_.size());
  const std::int64_t p = model_.outputs();
  for (std::size_t b = 0; b < steps.size(); ++b) {
    if (steps[b] == 0.0f) continue;
    float* own = slopes_.data() + batch_[b] * p;
    earlier_.remember(batch_[b], {own, static_cast<std::size_t>(p)}, offsets_[batch_[b]]);
    const float* direction = found_slopes_.data() + b * p;
    add_scaled(p, steps[b], direction, own);
    offsets_[batch_[b]] += steps[b] * (found_offsets_[b] - offsets_[batch_[b]]);
  }
}

void FactoredOracle::finish_round(double share) {
  earlier_.finish(share, slopes_, offsets_);
}

double FactoredOracle::mean_loss(const Weights& w) {
  if (const auto known = model_.mean_loss(w)) return *known;
  const std::int64_t p = model_.outputs();
  double sum = 0;
  for_batches(samples(), evaluation_batch_, [&](std::span<const std::int32_t> batch) {
    ask(batch, w);
    for (std::size_t b = 0; b < batch.size(); ++b)
      sum += exact_dot(found_slopes_.data() + b * p, found_outputs_.data() + b * p, p) + found_offsets_[b];
  });
  return sum / static_cast<double>(samples());
}

void FactoredOracle::visit(StateArchive& archive) {
  archive.array_of_same_size("blocks.slopes", slopes_);
  archive.array_of_same_size("blocks.offsets", offsets_);
}

ExplicitOracle::ExplicitOracle(ExplicitModel& model, const Threads& threads, int evaluation_batch)
    : model_(model),
      threads_(threads),
      evaluation_batch_(evaluation_batch),
      rows_(static_cast<std::size_t>(model.blocks() * model.dimension()), 0.0f),
      offsets_(static_cast<std::size_t>(model.blocks()), 0.0),
      directions_(model.dimension(), threads) {}

void ExplicitOracle::ask(std::span<const std::int32_t> blocks, const Weights& w) {
  found_rows_.resize(blocks.size() * static_cast<std::size_t>(dimension()));
  found_offsets_.resize(blocks.size());
  ExplicitPlanes planes{found_rows_, found_offsets_};
  model_.planes(blocks, w, planes);
}

const Directions& ExplicitOracle::find_planes(std::span<const std::int32_t> blocks, const Weights& w,
                                              std::span<double> losses, std::span<double> gaps) {
  const std::int64_t n = dimension();
  batch_.assign(blocks.begin(), blocks.end());
  ask(blocks, w);
  threads_.for_each(static_cast<int>(blocks.size()), [&](int b, int) {
    float* found = found_rows_.data() + b * n;
    const float* own = rows_.data() + blocks[b] * n;
    const double* exact = w.exact.data();
    losses[b] = exact_dot(found, exact, n) + found_offsets_[b];
    gaps[b] = losses[b] - exact_dot(own, exact, n) - offsets_[blocks[b]];
    add_scaled(n, -1.0f, own, found);
  });
  rows_of_.assign(blocks.size(), -1);
  std::int32_t moving = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!(gaps[b] > 0)) continue;
    const float* row = found_rows_.data() + b * n;
    if (moving != static_cast<std::int32_t>(b)) std::copy_n(row, n, found_rows_.data() + moving * n);
    rows_of_[b] = moving++;
  }
  directions_.set_batch(moving, found_rows_.data());
  return directions_;
}

void ExplicitOracle::commit(std::span<const float> steps) {
  LWSVM_CHECK(steps.size() == batch_.size());
  const std::int64_t n = dimension();
  for (std::size_t b = 0; b < steps.size(); ++b)
    if (steps[b] != 0.0f)
      earlier_.remember(batch_[b], {rows_.data() + batch_[b] * n, static_cast<std::size_t>(n)},
                        offsets_[batch_[b]]);
  threads_.for_each(static_cast<int>(steps.size()), [&](int b, int) {
    if (steps[b] == 0.0f) return;
    float* own = rows_.data() + batch_[b] * n;
    const float* direction = found_rows_.data() + rows_of_[b] * n;
    add_scaled(n, steps[b], direction, own);
    offsets_[batch_[b]] += steps[b] * (found_offsets_[b] - offsets_[batch_[b]]);
  });
}

void ExplicitOracle::finish_round(double share) {
  earlier_.finish(share, rows_, offsets_);
}

double ExplicitOracle::mean_loss(const Weights& w) {
  if (const auto known = model_.mean_loss(w)) return *known;
  const std::int64_t n = dimension();
  double sum = 0;
  for_batches(blocks(), evaluation_batch_, [&](std::span<const std::int32_t> batch) {
    ask(batch, w);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const std::span<const float> row(found_rows_.data() + b * n, static_cast<std::size_t>(n));
      sum += dot(threads_, row, w.exact) + found_offsets_[b];
    }
  });
  return sum / static_cast<double>(samples());
}

void ExplicitOracle::visit(StateArchive& archive) {
  archive.array_of_same_size("blocks.rows", rows_);
  archive.array_of_same_size("blocks.offsets", offsets_);
}

}  // namespace lwsvm
