// The layer problem by its definition, in double, from the naive network: what LayerProblem must agree with.
//
//   labels   s(w) = s(w_t) + J (w - w_t): the scores extrapolated from w_t, J (w - w_t) by a tiny step
//   full     convex(w) - [ K(w_t) + K'(w_t)(w - w_t) ], K' by a tiny step, parts from the decomposition
#pragma once

#include <span>
#include <vector>

#include "decomposed.h"
#include "networks.h"

namespace lwsvm {

class NaiveSurrogate {
 public:
  NaiveSurrogate(const Graph& graph, int open, const SampleSource& source, const MarginMatrix& margins)
      : graph_(graph), open_(open), margins_(margins), tail_(cut_tail(graph, open)) {
    naive::Tensor images(graph.node(0).shape, static_cast<int>(source.size()));
    std::vector<float> buffer(at(images.size()));
    for (std::int64_t n = 0; n < source.size(); ++n) {
      source.read(n, buffer.data());
      std::copy(buffer.begin(), buffer.end(), images.values.begin() + n * images.size());
      labels_.push_back(source.label(n));
    }
    setting_ = setting_for(graph, {images});
    anchor_.assign(setting_.parameters.begin() + range().begin, setting_.parameters.begin() + range().end());
  }

  const std::vector<double>& anchor() const { return anchor_; }
  double samples() const { return static_cast<double>(labels_.size()); }
  double kink_at(std::span<const double> w) const { return run(w).kink; }

  double true_loss(std::span<const double> w) const { return mean_hinge(scores(w)); }

  // The scores with every activation after the layer as it is at w_t.
  naive::Tensor frozen_scores(std::span<const double> w) const {
    naive::Tensor base = scores(anchor_);
    const naive::Tensor beside = scores(beside_anchor(w));
    for (std::size_t i = 0; i < base.values.size(); ++i)
      base.values[i] += (beside.values[i] - base.values[i]) / step;
    return base;
  }
  double labels_surrogate(std::span<const double> w) const { return mean_hinge(frozen_scores(w)); }

  double full_surrogate(std::span<const double> w, LossSplit split) {
    const Decomposition decomposition =
        decompose(tail_, static_cast<int>(piecewise_layers(tail_).size()), split);
    const auto blocks_at = [&](std::span<const double> there) {
      return naive_blocks(decomposition, tail_inputs(tail_, run(there)));
    };
    const Blocks far = blocks_at(w), base = blocks_at(anchor_), beside = blocks_at(beside_anchor(w));
    double sum = 0;
    size_ = 1;
    for (std::size_t n = 0; n < labels_.size(); ++n) {
      const double k = base.concave(n, labels_[n]);
      sum += far.convex(n, labels_[n], margins_) - k - (beside.concave(n, labels_[n]) - k) / step;
      for (double value : far.k[n]) size_ = std::max(size_, std::abs(value));
    }
    return sum / samples();
  }
  double size() const { return size_; }  // of the numbers that full_surrogate subtracted from each other

 private:
  static constexpr double step = 1e-7;

  ParameterRange range() const { return graph_.node(open_).trained; }
  naive::Run run(std::span<const double> w) const {
    naive::Setting there = setting_;
    std::copy(w.begin(), w.end(), there.parameters.begin() + range().begin);
    return naive::run(graph_, there);
  }
  naive::Tensor scores(std::span<const double> w) const { return run(w).values[at(graph_.scores())]; }
  std::vector<double> beside_anchor(std::span<const double> w) const {
    std::vector<double> beside = anchor_;
    for (std::size_t i = 0; i < beside.size(); ++i) beside[i] += step * (w[i] - anchor_[i]);
    return beside;
  }
  double mean_hinge(const naive::Tensor& found) const {
    double sum = 0;
    for (std::size_t n = 0; n < labels_.size(); ++n)
      sum += hinge_of(found, static_cast<std::int64_t>(n), labels_[n], margins_);
    return sum / samples();
  }

  const Graph& graph_;
  int open_;
  const MarginMatrix& margins_;
  Tail tail_;
  naive::Setting setting_;
  std::vector<std::int32_t> labels_;
  std::vector<double> anchor_;
  double size_ = 1;
};

}  // namespace lwsvm
