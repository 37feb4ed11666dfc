// Chooses lambda by validation accuracy: the only number that LW-SVM leaves to choose.
//
// The last layer's SVM is solved for a geometric grid of lambdas, from the largest down, each dual
// warm-started from the one before (which planes are feasible does not depend on lambda). The lambda with the
// best validation accuracy wins; ties go to the larger one. Around a centre the largest lambda all but keeps
// the layer, so that the search says how far it should move.
//
// Of several ranks each has its part of the samples; all choose the same.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/sample_source.h"
#include "base/team.h"
#include "engine/threads.h"
#include "net/graph.h"
#include "net/loss.h"

namespace lwsvm {

struct LambdaTrial {
  double lambda = 0;
  double val_accuracy = 0, train_loss = 0;
  int epochs = 0;
};

struct LambdaSearchOptions {
  double largest = 1.0, smallest = 1e-4;
  int per_decade = 2;
  double gap = 0.1;
  int max_epochs = 20;
  int batch = 200;
  std::uint64_t memory = std::uint64_t{4} << 30;
  std::uint64_t seed = 0;
  std::function<bool()> stop_requested;  // asked often; if any rank says so the search ends, the best so far
  std::vector<float> centre;             // of the regulariser, for lambda_search_layer's weights; empty: zero
};

int lambda_search_layer(const Graph& graph);  // whose SVM is solved: the last that can be opened

struct LambdaChoice {
  double lambda = 0;
  std::vector<LambdaTrial> trials;  // largest lambda first
};

// `report` is told after every trial and returns false to stop early (with the best so far). The graph is
// left as it was.
LambdaChoice choose_lambda(Graph& graph, const SampleSource& train, const SampleSource& validation,
                           const Loss& loss, const LambdaSearchOptions& options, const Threads& threads,
                           const std::function<bool(const LambdaTrial&)>& report, Team& team = alone());

}  // namespace lwsvm
