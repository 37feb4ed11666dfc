#include "model/initialize.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "net/layers/convolution_layer.h"

namespace lwsvm {
namespace {

constexpr std::uint64_t kInitializationPurpose = 0x696e6974;  // "init"

double glorot_limit(const Node& node, const Shape& weights) {
  std::int64_t window = 1, groups = 1;
  for (std::size_t i = 2; i < weights.size(); ++i) window *= weights[i];
  if (const auto* convolution = dynamic_cast<const ConvolutionLayer*>(node.layer.get()))
    groups = convolution->spec().groups;
  const std::int64_t reached = weights[0] / groups;  // outputs that read an input channel
  return std::sqrt(6.0 / static_cast<double>((weights[1] + reached) * window));
}

}  // namespace

void initialize_parameters(Graph& graph, std::uint64_t seed) {
  for (std::size_t index = 0; index < graph.nodes().size(); ++index) {
    const Node& node = graph.nodes()[index];
    for (const Parameter& parameter : node.parameters) {
      auto& store = parameter.role == Role::statistic ? graph.statistics() : graph.parameters();
      const auto begin = store.begin() + parameter.range.begin;
      const auto end = begin + parameter.range.size;
      if (parameter.role == Role::weight) {
        const double limit = glorot_limit(node, parameter.shape);
        Random random(seed, kInitializationPurpose, index);
        std::generate(begin, end, [&] { return static_cast<float>(random.uniform(-limit, limit)); });
      } else if (parameter.name == "scale" || parameter.name == "variance") {
        std::fill(begin, end, 1.0f);
      } else if (parameter.name == "slope") {
        std::fill(begin, end, 0.25f);
      } else {
        std::fill(begin, end, 0.0f);
      }
    }
  }
}

}  // namespace lwsvm
