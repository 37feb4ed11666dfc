// How far into a network `adapt` goes.
//
//   head   the new last layer alone
//   auto   the last 2, 4, 8, ... layers, for as long as validation improves, within an end of the network that
//          holds at most a third of its work and whose input, for all samples, fits into memory
//   all    every layer that can be refined, at once
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/messages.h"
#include "lwsvm/network_tail.h"
#include "model/model.h"

namespace lwsvm::run {

enum class Depth { head, automatic, all };
Depth parse_depth(const std::string& word);  // throws Error

// The node of the network at which its frozen part ends.
int choose_cut(const Model& model, int head, Depth depth, std::int64_t samples, std::uint64_t memory);

// Layers to open in each stage, as nodes of the tail, each stage with those of the one before.
std::vector<std::vector<int>> plan_stages(const Model& model, const NetworkTail& tail, int head, Depth depth);

}  // namespace lwsvm::run
