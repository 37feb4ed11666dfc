#include "lwsvm/frozen_prefix.h"

#include <algorithm>

#include "dc/tail.h"
#include "net/evaluator.h"

namespace lwsvm {
namespace {

constexpr double kMinShareOfWork = 0.05;

std::int64_t flops_up_to(const Graph& network, int node) {
  std::int64_t total = 0;
  for (int i = 0; i <= node; ++i) total += network.flops(i);
  return total;
}

}  // namespace

int frozen_prefix(const Graph& network, std::span<const int> layers) {
  const std::vector<bool> needed = needed_for_scores(network);
  const int first_open = *std::min_element(layers.begin(), layers.end());
  // After a node that everything goes through nobody reads a value from before it.
  int earliest_read = network.scores();
  int found = -1;
  for (int node = network.scores(); node >= 0; --node) {
    if (!needed[static_cast<std::size_t>(node)]) continue;
    if (node < first_open && earliest_read >= node) {
      found = node;
      break;
    }
    for (int input : network.node(node).inputs) earliest_read = std::min(earliest_read, input);
  }
  const double share =
      static_cast<double>(flops_up_to(network, found)) / static_cast<double>(network.flops());
  return share < kMinShareOfWork ? -1 : found;
}

std::uint64_t PrefixSource::bytes_for(const Graph& network, int node, std::int64_t samples) {
  return static_cast<std::uint64_t>(samples * element_count(network.node(node).shape)) * sizeof(float);
}

PrefixSource::PrefixSource(const Graph& network, int node, const SampleSource& source)
    : source_(source),
      node_(node),
      row_(element_count(network.node(node).shape)),
      values_(static_cast<std::size_t>(row_ * source.size())) {}

// In the evaluator's own chunks, so that going on from here gives the bits of going all the way.
void PrefixSource::compute(const Graph& network, const Threads& threads, int from) {
  Evaluator(network, threads, from, node_)
      .for_scores(source_, [&](std::int64_t first, std::int64_t samples, const float* values) {
        std::copy_n(values, samples * row_, values_.data() + first * row_);
      });
}

void PrefixSource::read(std::int64_t index, float* target) const {
  std::copy_n(values_.data() + index * row_, row_, target);
}

}  // namespace lwsvm
