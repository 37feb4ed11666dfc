// What `lwsvm inspect` finds out: which layers can be refined and what that takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lwsvm/layer_problem.h"
#include "model/model.h"
#include "model/summary.h"

namespace lwsvm::run {

// Of a layer with weights: whether it can be opened, and what that takes.
struct Refinable {
  std::string obstacle;  // empty: it can
  LayerMemory memory;
};

struct Inspection {
  GraphSummary summary;
  std::vector<std::optional<Refinable>> layers;  // by node; absent: it has no weights
  int weighted = 0, refinable = 0;
  std::uint64_t largest = 0;  // bytes, of the layer that takes most
  std::uint64_t sweeps = 0;   // bytes that sweeps over all these layers take
};

// For so many training samples, and so much memory that refine may take.
Inspection inspect_network(const Model& model, std::int64_t samples, std::uint64_t memory);

// Why this layer with weights cannot be refined and written back; empty if it can.
std::string why_not_refined(const Model& model, int node);

std::string expected_input(const Model& model);  // what goes in, as far as the file tells

}  // namespace lwsvm::run
