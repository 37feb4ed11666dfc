// An oracle over listed planes, in double throughout: any small problem, as exactly as the solver can take
// it.
#pragma once

#include <vector>

#include "ssvm/oracle.h"
#include "ssvm/reference_qp.h"

namespace lwsvm::toys {

// Random planes, the zero plane first; samples x planes in R^dimension.
inline reference::Planes random_planes(int samples, int planes, int dimension, std::uint64_t seed) {
  Random random(seed);
  reference::Planes all;
  for (int i = 0; i < samples; ++i) {
    auto& sample = all.emplace_back();
    sample.push_back({std::vector<double>(static_cast<std::size_t>(dimension), 0.0), 0.0});
    for (int k = 1; k < planes; ++k) {
      sample.push_back({std::vector<double>(static_cast<std::size_t>(dimension)), random.uniform(-0.5, 1)});
      for (double& x : sample.back().psi) x = random.normal();
    }
  }
  return all;
}

class DoubleDirections final : public Directions {
 public:
  std::vector<std::vector<double>> rows;

  int count() const override { return static_cast<int>(rows.size()); }
  std::int64_t dimension() const override { return std::ssize(rows[0]); }
  void gram(std::span<float> out) const override {
    for (std::size_t b = 0; b < rows.size(); ++b)
      for (std::size_t c = 0; c < rows.size(); ++c)
        out[b * rows.size() + c] = static_cast<float>(reference::dot(rows[b], rows[c]));
  }
  void combine(std::span<const float> steps, std::span<float> out) const override {
    for (std::size_t j = 0; j < out.size(); ++j) {
      double sum = 0;
      for (std::size_t b = 0; b < rows.size(); ++b) sum += steps[b] * rows[b][j];
      out[j] = static_cast<float>(sum);
    }
  }
};

class EnumeratedOracle final : public Oracle {
 public:
  explicit EnumeratedOracle(const reference::Planes& planes) : planes_(planes) {
    for (const auto& sample : planes) own_.push_back({std::vector<double>(sample[0].psi.size(), 0.0), 0.0});
  }

  std::int64_t samples() const override { return std::ssize(planes_); }
  std::int64_t blocks() const override { return std::ssize(planes_); }
  std::int64_t dimension() const override { return std::ssize(planes_[0][0].psi); }

  const Directions& find_planes(std::span<const std::int32_t> blocks, const Weights& w,
                                std::span<double> losses, std::span<double> gaps) override {
    const std::vector<double> at(w.exact.begin(), w.exact.end());
    batch_.assign(blocks.begin(), blocks.end());
    found_.clear();
    rows_of_.clear();
    directions_.rows.clear();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const reference::Plane& best = best_plane(blocks[b], at);
      const reference::Plane& own = own_[blocks[b]];
      losses[b] = value(best, at);
      gaps[b] = losses[b] - value(own, at);
      found_.push_back(best.ell);
      rows_of_.push_back(directions_.rows.size());
      if (gaps[b] <= 0) continue;
      auto& row = directions_.rows.emplace_back(best.psi);
      for (std::size_t j = 0; j < row.size(); ++j) row[j] -= own.psi[j];
    }
    return directions_;
  }

  void commit(std::span<const float> steps) override {
    for (std::size_t b = 0; b < steps.size(); ++b) {
      if (steps[b] == 0) continue;
      reference::Plane& own = own_[batch_[b]];
      for (std::size_t j = 0; j < own.psi.size(); ++j)
        own.psi[j] += steps[b] * directions_.rows[rows_of_[b]][j];
      own.ell += steps[b] * (found_[b] - own.ell);
    }
  }

  void begin_round() override { earlier_ = own_; }
  void finish_round(double share) override {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      for (std::size_t j = 0; j < own_[i].psi.size(); ++j)
        own_[i].psi[j] = earlier_[i].psi[j] + share * (own_[i].psi[j] - earlier_[i].psi[j]);
      own_[i].ell = earlier_[i].ell + share * (own_[i].ell - earlier_[i].ell);
    }
  }

  double mean_loss(const Weights& w) override {
    const std::vector<double> at(w.exact.begin(), w.exact.end());
    double sum = 0;
    for (std::int64_t i = 0; i < samples(); ++i) sum += value(best_plane(i, at), at);
    return sum / static_cast<double>(samples());
  }

  void visit(StateArchive& archive) override {
    std::vector<double> flat;
    for (const auto& own : own_) {
      flat.insert(flat.end(), own.psi.begin(), own.psi.end());
      flat.push_back(own.ell);
    }
    archive.array_of_same_size("blocks.planes", flat);
    const double* next = flat.data();
    for (auto& own : own_) {
      for (double& x : own.psi) x = *next++;
      own.ell = *next++;
    }
  }
  std::uint64_t block_bytes() const override { return 8 * own_.size() * (own_[0].psi.size() + 1); }

  double gap_sum(const std::vector<double>& w) const {
    double sum = 0;
    for (std::size_t i = 0; i < own_.size(); ++i)
      sum += value(best_plane(static_cast<std::int64_t>(i), w), w) - value(own_[i], w);
    return sum;
  }

 private:
  static double value(const reference::Plane& plane, const std::vector<double>& w) {
    return reference::dot(plane.psi, w) + plane.ell;
  }
  const reference::Plane& best_plane(std::int64_t i, const std::vector<double>& w) const {
    const reference::Plane* best = &planes_[i][0];
    for (const auto& plane : planes_[i])
      if (value(plane, w) > value(*best, w)) best = &plane;
    return *best;
  }

  const reference::Planes& planes_;
  std::vector<reference::Plane> own_, earlier_;
  DoubleDirections directions_;
  std::vector<std::int32_t> batch_;
  std::vector<double> found_;
  std::vector<std::size_t> rows_of_;
};

}  // namespace lwsvm::toys
