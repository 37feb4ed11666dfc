// The regulariser: the part of the objective that does not look at the data.
//
//   R(w) = lambda/2 sum_l ||w_l - c_l||^2,      F = R + 1/N sum_i loss_i
//
// over the layers l that it covers, w_l their weights and biases, accumulated in double. The centre c is
// where it pulls to: zero [BZK17, Eq. 1], or the weights of a network that somebody has trained, which are
// then not forgotten by shrinking ([LGD18], L2-SP). Layers that it does not cover are constants and have no
// part in F.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "net/graph.h"

namespace lwsvm {

class Regulariser {
 public:
  // Every convolution and dense layer, around zero: what `train` and `svm` minimise, and the paper.
  Regulariser(const Graph& graph, double lambda);
  // These layers (nodes with weights) only. `centre` is laid out as the graph's parameters; empty: zero.
  Regulariser(const Graph& graph, double lambda, std::span<const int> layers,
              std::span<const float> centre = {});

  double lambda() const { return lambda_; }

  // R, and R / lambda, at these parameters of the graph.
  double value(std::span<const float> parameters) const { return lambda_ * half_square(parameters); }
  double half_square(std::span<const float> parameters) const;
  // One covered layer's part of R / lambda, were its weights `w`.
  double layer_half_square(int node, std::span<const float> w) const;
  // lambda (w - c), written to the covered ranges of `gradient`; what lies between them is left as it is.
  void gradient(std::span<const float> parameters, std::span<float> gradient) const;

  // What it covers: a range of the graph's parameters for each layer, input to output.
  struct Layer {
    int node = -1;
    ParameterRange range;
    std::int64_t packed = 0;  // where the layer begins in centre()
  };
  const std::vector<Layer>& layers() const { return layers_; }
  bool covers(int node) const;
  std::int64_t size() const;  // of all ranges together

  // c, the layers side by side; empty: zero. A resumed run puts back the one it began with.
  const std::vector<float>& centre() const { return centre_; }
  void set_centre(std::vector<float> centre);
  std::vector<float> layer_centre(int node) const;  // of one covered layer; empty: zero

 private:
  const Layer& layer(int node) const;

  double lambda_;
  std::vector<Layer> layers_;
  std::vector<float> centre_;
};

}  // namespace lwsvm
