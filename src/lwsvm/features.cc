#include "lwsvm/features.h"

#include <algorithm>

#include "lwsvm/layer_problem.h"

namespace lwsvm {

std::unique_ptr<Features> Features::of_last_layer(const Graph& network, std::span<const int> layers, int from,
                                                  const SampleSource& training,
                                                  const SampleSource* validation, std::uint64_t memory,
                                                  const Threads& threads) {
  const int last = *std::max_element(layers.begin(), layers.end());
  if (free_layer_count(network, last) > 0) return nullptr;
  const int node = frozen_prefix(network, std::span(&last, 1));
  if (node <= from) return nullptr;
  const std::int64_t samples = training.size() + (validation ? validation->size() : 0);
  if (PrefixSource::bytes_for(network, node, samples) > memory) return nullptr;
  return std::unique_ptr<Features>(new Features(network, node, from, training, validation, threads));
}

Features::Features(const Graph& network, int node, int from, const SampleSource& training,
                   const SampleSource* validation, const Threads& threads)
    : network_(network),
      node_(node),
      from_(from),
      threads_(threads),
      evaluator_(network, threads_, node),
      training_{PrefixSource(network, node, training), {}} {
  if (validation) validation_ = std::make_unique<Part>(Part{PrefixSource(network, node, *validation), {}});
}

std::span<const float> Features::weights_before() const {
  return {network_.parameters().data(), static_cast<std::size_t>(network_.node(node_).trained.end())};
}

bool Features::is_up_to_date(const Part& part) const {
  return part.is_computed && std::ranges::equal(weights_before(), part.weights);
}

void Features::bring_up_to_date(Part& part) {
  if (is_up_to_date(part)) return;
  part.values.compute(network_, threads_, from_);
  const std::span<const float> weights = weights_before();
  part.weights.assign(weights.begin(), weights.end());
  part.is_computed = true;
}

LossSums Features::evaluate(Part& part, const Loss& loss) {
  bring_up_to_date(part);
  return evaluator_.evaluate(part.values, loss);
}

std::uint64_t Features::bytes() const {
  return training_.values.bytes() + (validation_ ? validation_->values.bytes() : 0);
}

double Features::share_of_work() const {
  std::int64_t after = 0;
  for (int node = node_ + 1; node < std::ssize(network_.nodes()); ++node) after += network_.flops(node);
  return static_cast<double>(after) / static_cast<double>(network_.flops());
}

}  // namespace lwsvm
