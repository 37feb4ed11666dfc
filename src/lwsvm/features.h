// What the last layer sees: its input for all samples, kept from the last look at the network.
//
// Between two moves the network is looked at on all samples, to judge the first. If the second updates the
// last layer, that has cost its forward passes already: what is left to do is the solve, and F follows from
// the features and the layer alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/sample_source.h"
#include "engine/threads.h"
#include "lwsvm/frozen_prefix.h"
#include "net/evaluator.h"
#include "net/graph.h"
#include "net/loss.h"

namespace lwsvm {

class Features {
 public:
  // Of the last of these layers. Null where that is no SVM layer, or where its input would take more than
  // `memory`. The samples are values of the node `from`, or of the network's input; `validation` may be null.
  // All must outlive this.
  static std::unique_ptr<Features> of_last_layer(const Graph& network, std::span<const int> layers, int from,
                                                 const SampleSource& training, const SampleSource* validation,
                                                 std::uint64_t memory, const Threads& threads);

  // Of the network as it is, with the bits of an evaluation that begins at the samples. What has been seen
  // of it already is not computed again.
  LossSums evaluate_training(const Loss& loss) { return evaluate(training_, loss); }
  LossSums evaluate_validation(const Loss& loss) { return evaluate(*validation_, loss); }
  // For what reads training() next.
  void bring_up_to_date() { bring_up_to_date(training_); }
  bool is_up_to_date() const { return is_up_to_date(training_); }

  int node() const { return node_; }  // whose values they are
  const SampleSource& training() const { return training_.values; }
  Evaluator& evaluator() { return evaluator_; }  // of samples that are features
  std::uint64_t bytes() const;
  // The part of the work of an evaluation that comes after the features.
  double share_of_work() const;

 private:
  struct Part {
    PrefixSource values;
    std::vector<float> weights;  // before the last layer, that they were computed with
    bool is_computed = false;
  };

  Features(const Graph& network, int node, int from, const SampleSource& training,
           const SampleSource* validation, const Threads& threads);
  LossSums evaluate(Part& part, const Loss& loss);
  void bring_up_to_date(Part& part);
  bool is_up_to_date(const Part& part) const;
  std::span<const float> weights_before() const;

  const Graph& network_;
  int node_, from_;
  Threads threads_;
  Evaluator evaluator_;
  Part training_;
  std::unique_ptr<Part> validation_;
};

}  // namespace lwsvm
