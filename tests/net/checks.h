// Random problems, and the comparison of a compiled network with the naive one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/sample_source.h"
#include "naive.h"
#include "net/graph.h"
#include "net/loss.h"
#include "repetitions.h"

namespace lwsvm {

inline std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

template <typename L, typename... Args>
std::shared_ptr<const Layer> layer(Args&&... args) {
  return std::make_shared<L>(std::forward<Args>(args)...);
}

std::vector<float> random_floats(std::int64_t count, double low, double high, Random& random);

// Random parameters and statistics, in float: weights so that layers keep the size of their inputs, variances
// positive.
void randomise(Graph& graph, std::uint64_t seed);

// Random inputs for a graph with its present parameters; drawn again until no piecewise linear layer is
// within `clearance` of a kink. `inputs` have at most 24 bits, so float and double see the same.
naive::Setting clear_setting(const Graph& graph, int samples, std::uint64_t seed, bool training = false,
                             double clearance = 4e-5);

// That a Program's output, and its gradient of a random linear functional of the output with respect to every
// parameter and input, are the naive network's and its central finite differences. Draws parameters and
// inputs.
void expect_like_naive(Graph& graph, int samples, std::uint64_t seed);

// The same for a network of one layer, over batches of 1 and 37.
void expect_layer_like_naive(std::shared_ptr<const Layer> layer, const std::vector<Shape>& inputs,
                             const std::string& what);

// (f(+h) - f(-h)) / 2h along a direction in the joint space of parameters and inputs.
struct Direction {
  std::vector<double> parameters;
  std::vector<std::vector<double>> inputs;
};
double finite_difference(const naive::Setting& setting, const Direction& direction, double step,
                         const std::function<double(const naive::Setting&)>& function);

class VectorSource final : public SampleSource {
 public:
  VectorSource(std::int64_t sample_size, std::vector<float> values, std::vector<std::int32_t> labels)
      : sample_size_(sample_size), values_(std::move(values)), labels_(std::move(labels)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  std::int32_t label(std::int64_t index) const override { return labels_[at(index)]; }
  void read(std::int64_t index, float* target) const override {
    std::copy_n(values_.data() + index * sample_size_, sample_size_, target);
  }

 private:
  std::int64_t sample_size_;
  std::vector<float> values_;
  std::vector<std::int32_t> labels_;
};

VectorSource random_source(const Shape& shape, int samples, int classes, std::uint64_t seed);

// The summed loss by its definition, in double.
double naive_loss(const Loss& loss, const naive::Tensor& scores, const std::vector<std::int32_t>& labels);

// Networks as they are trained: conv-relu-pool twice and dense, and a residual one with batch normalisation.
Graph small_conv_net(float dropout = 0.0f);
Graph small_batch_norm_net();

}  // namespace lwsvm
