// How far into a network `adapt` goes.
//
//   head   the new last layer alone
//   auto   as many layers as are better by validation (adapt_deeper.h), within an end of the network
//          that holds at most a third of its work and whose input, for all samples, fits into memory
//   all    every layer that can be refined, at once
#pragma once

#include <cstdint>
#include <span>
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

// The end of the network as a stage sees it. F has one lambda for all opened layers, but the new layer's,
// chosen for features of any size, says nothing of how far the old layers may move. So in
//
//   scores = W f + b  =  W' (scale f) + b,      scale^2 = lambda / lambda_head,   a power of two
//
//   lambda ||W'||^2 = lambda_head ||W||^2
//
// and lambda is one with which moving the old opened layers as far as they are long costs a part of a wrong
// answer, as in `refine`. Biases stay as they are, and so count a little more or less than before.
struct StageNetwork {
  Graph graph;        // parameters lie as in the tail's; nodes but the last have its numbers
  int head = -1;      // here
  double scale = 1;   // a power of two
  double lambda = 0;  // of all opened layers

  void take(const Graph& tail);                                    // parameters
  void put_back(Graph& tail) const;                                // into the tail
  std::vector<float> scaled(std::vector<float> parameters) const;  // of the tail, as they are here
};

// `layers` are nodes of the tail, the new one (`head`) among them; the others count as they are in `start`.
StageNetwork stage_network(const NetworkTail& tail, int head, std::span<const int> layers,
                           std::span<const float> start, double head_lambda);

// Layers to open together, as nodes of the tail, the new one first: 2, 4, 8, ... of them.
std::vector<std::vector<int>> plan_stages(const Model& model, const NetworkTail& tail, int head, Depth depth);

}  // namespace lwsvm::run
