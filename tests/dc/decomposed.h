// A network with one layer open, and its decomposition, both by the naive implementation in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/margin_matrix.h"
#include "base/random.h"
#include "dc/decompose.h"
#include "naive.h"
#include "net/graph.h"

namespace lwsvm {

// The blocks S, D and K of every sample.
struct Blocks {
  int classes = 0;
  std::vector<std::vector<double>> s, d, k;  // samples x classes

  // max_y [ Delta(y, truth) + S_y ] + D_truth.
  double convex(std::size_t sample, int truth, const MarginMatrix& margins) const {
    double best = -HUGE_VAL;
    for (int y = 0; y < classes; ++y)
      best = std::max(best, static_cast<double>(margins(y, truth)) + s[sample][static_cast<std::size_t>(y)]);
    return best + d[sample][static_cast<std::size_t>(truth)];
  }
  double concave(std::size_t sample, int truth) const { return k[sample][static_cast<std::size_t>(truth)]; }
};

template <typename T>
Blocks blocks_of(const Decomposition& decomposition, const T* output, int samples) {
  Blocks blocks;
  blocks.classes = decomposition.classes;
  for (int n = 0; n < samples; ++n) {
    const T* row = output + n * decomposition.width();
    const auto block = [&](int at) {
      return std::vector<double>(row + at, row + at + decomposition.classes);
    };
    const bool shared = decomposition.has_shared;
    blocks.s.push_back(block(decomposition.convex_at()));
    blocks.d.push_back(shared ? block(decomposition.shared_at())
                              : std::vector<double>(static_cast<std::size_t>(decomposition.classes), 0.0));
    blocks.k.push_back(block(decomposition.concave_at()));
  }
  return blocks;
}

// What the tail is given when the network is run with these values: the open layer's output, and the
// frontier.
inline std::vector<naive::Tensor> tail_inputs(const Tail& tail, const naive::Run& network) {
  std::vector<naive::Tensor> inputs{network.values[static_cast<std::size_t>(tail.open_node)]};
  for (int node : tail.frontier) inputs.push_back(network.values[static_cast<std::size_t>(node)]);
  return inputs;
}

inline naive::Setting setting_for(const Graph& graph, std::vector<naive::Tensor> inputs) {
  naive::Setting setting;
  setting.inputs = std::move(inputs);
  setting.parameters.assign(graph.parameters().begin(), graph.parameters().end());
  setting.statistics.assign(graph.statistics().begin(), graph.statistics().end());
  return setting;
}

inline naive::Tensor output_of(const Graph& graph, std::vector<naive::Tensor> inputs) {
  return naive::run(graph, setting_for(graph, std::move(inputs)))
      .values[static_cast<std::size_t>(graph.output())];
}

inline Blocks naive_blocks(const Decomposition& decomposition, std::vector<naive::Tensor> inputs) {
  const int samples = inputs[0].samples;
  const naive::Tensor output = output_of(decomposition.graph, std::move(inputs));
  return blocks_of(decomposition, output.values.data(), samples);
}

// max_y [ Delta(y, truth) + s_y - s_truth ] of one sample, by its definition.
inline double hinge_of(const naive::Tensor& scores, std::int64_t sample, int truth,
                       const MarginMatrix& margins) {
  double worst = -HUGE_VAL;
  for (int y = 0; y < margins.classes(); ++y)
    worst =
        std::max(worst, static_cast<double>(margins(y, truth)) + scores(sample, y) - scores(sample, truth));
  return worst;
}

inline MarginMatrix random_margins(int count, Random& random) {
  std::vector<float> values;
  for (int predicted = 0; predicted < count; ++predicted)
    for (int truth = 0; truth < count; ++truth)
      values.push_back(predicted == truth ? 0.0f : static_cast<float>(random.uniform(0, 2)));
  return MarginMatrix(count, values);
}

}  // namespace lwsvm
