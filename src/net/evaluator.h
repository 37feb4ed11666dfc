// Loss and accuracy of a network over many samples, in evaluation mode: frozen batch normalisation, no
// dropout.
//
// This is the one place where the objective is computed, for training, for refining and for reports alike:
//   F = regulariser + 1/N sum_i loss_i,  accumulated in double (regulariser.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/sample_source.h"
#include "base/team.h"
#include "engine/threads.h"
#include "net/graph.h"
#include "net/loss.h"
#include "net/program.h"
#include "net/regulariser.h"

namespace lwsvm {

// How many samples go through the network at once: as many as keep its widest layer in a core's second cache,
// two at least (weights are read once for both), 48 at most, and whole groups where samples are interleaved.
// It follows from shapes alone, so sums over samples depend neither on the machine nor on its threads.
std::int64_t evaluation_chunk(const Graph& graph, int from = -1);

class Evaluator {
 public:
  // Samples are values of the node `from`, which everything goes through (Program), or of the graph's input;
  // `target` is the node that for_scores visits, if not the scores. Of a team each rank has a part of the
  // samples.
  Evaluator(const Graph& graph, const Threads& threads, int from = -1, int target = -1, Team& team = alone());

  // Over the samples of all ranks, which call it together.
  LossSums evaluate(const SampleSource& source, const Loss& loss);
  double objective(const LossSums& sums, const Regulariser& regulariser) const {
    return regulariser.value(graph_.parameters()) + sums.mean_loss();
  }

  // Scores of samples begin..begin+count-1, row by row; `visit(first sample, samples, scores)` in no
  // particular order, from several threads.
  using Visit = std::function<void(std::int64_t first, std::int64_t samples, const float* scores)>;
  void for_scores(const SampleSource& source, const Visit& visit);

 private:
  struct Compiled {
    std::unique_ptr<Program> program;
    std::vector<Workspace> workspaces;  // one per worker
  };
  Compiled& compiled(std::int64_t samples);

  const Graph& graph_;
  const Threads& threads_;
  int from_, target_;
  std::int64_t chunk_;
  Team& team_;
  std::map<std::int64_t, Compiled> programs_;
};

}  // namespace lwsvm
