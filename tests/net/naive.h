// The network by its definitions: plain loops in double, written without a look at the kernels.
//
// Everything in canonical (channels-first) order, all samples of a batch side by side. Slow, and meant to be
// read.
#pragma once

#include <limits>
#include <vector>

#include "net/graph.h"

namespace lwsvm::naive {

struct Tensor {
  Shape shape;  // of one sample
  int samples = 0;
  std::vector<double> values;

  Tensor() = default;
  Tensor(Shape s, int n)
      : shape(std::move(s)), samples(n), values(static_cast<std::size_t>(n * element_count(shape))) {}
  std::int64_t size() const { return element_count(shape); }
  double& operator()(std::int64_t n, std::int64_t i) {
    return values[static_cast<std::size_t>(n * size() + i)];
  }
  double operator()(std::int64_t n, std::int64_t i) const {
    return values[static_cast<std::size_t>(n * size() + i)];
  }
  // Of images. Outside of the image: `inside` is false.
  bool inside(std::int64_t h, std::int64_t w) const {
    return h >= 0 && h < shape[1] && w >= 0 && w < shape[2];
  }
  double& pixel(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
    return (*this)(n, (c * shape[1] + h) * shape[2] + w);
  }
  double pixel(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return (*this)(n, (c * shape[1] + h) * shape[2] + w);
  }
};

// What a network is evaluated with; parameters and statistics in the graph's order.
struct Setting {
  std::vector<Tensor> inputs;
  std::vector<double> parameters, statistics;
  bool training = false;  // batch statistics; dropout must have rate 0
};

struct Run {
  std::vector<Tensor> values;  // of every node
  // How far the nearest input of a piecewise linear layer is from where its piece changes: derivatives, and
  // comparisons with float, make sense only where this is not tiny. Exact ties are not counted: with random
  // numbers they come from the structure (two zeros after a ReLU, max(x, x)) and stay ties.
  double kink = std::numeric_limits<double>::infinity();
  std::vector<double> statistics;  // running averages afterwards
};

Run run(const Graph& graph, const Setting& setting);

}  // namespace lwsvm::naive
