// What tests of whole refinements have in common: small settings, and a watcher that checks every update.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "decomposed.h"
#include "lwsvm/refiner.h"
#include "networks.h"

namespace lwsvm {

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline Loss zero_one_loss() {
  return Loss(LossKind::hinge, MarginMatrix(classes));
}

// Watches every update: what it says against what happened to the network.
class Watcher : public RefineObserver {
 public:
  Watcher(const Graph& graph, const SampleSource& train, const Loss& loss, const RefineOptions& options)
      : graph_(graph),
        train_(train),
        loss_(loss),
        regulariser_(make_regulariser(graph, options)),
        threads_(2),
        evaluator_(graph, threads_) {}

  void on_open(int /*pass*/, const std::string& /*layer*/) override { opened_ = graph_.parameters(); }

  void on_update(const LayerUpdate& update) override {
    SCOPED_TRACE(update.layer + ", " + update.form);
    const std::vector<float>& now = graph_.parameters();
    const bool sweep = update.form == "sweep";  // which may change every layer
    const ParameterRange range =
        sweep ? ParameterRange{0, std::ssize(now)} : graph_.node(*graph_.find(update.layer)).trained;
    if (update.accepted) {
      EXPECT_LT(update.after, update.before);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(now.size()); ++i)
        if (i < range.begin || i >= range.end()) {
          ASSERT_EQ(now[at(i)], opened_[at(i)]) << "another layer was changed";
        }
    } else {
      EXPECT_TRUE(same_bits(now, opened_)) << "a rejected update left something behind";
      EXPECT_EQ(update.after, update.before);
    }
    EXPECT_EQ(update.after, evaluator_.objective(evaluator_.evaluate(train_, loss_), regulariser_));
    if (!updates.empty()) {
      EXPECT_EQ(update.before, updates.back().after);
    }
    EXPECT_GE(update.gap, -1e-5 * (1 + std::abs(update.primal)));
    updates.push_back(update);
    after_updates.push_back(now);
  }
  void on_pass(int pass, const NetworkQuality& quality) override {
    EXPECT_EQ(pass, static_cast<int>(passes.size()) + 1);
    passes.push_back(quality);
  }

  std::vector<LayerUpdate> updates;
  std::vector<std::vector<float>> after_updates;  // the parameters
  std::vector<NetworkQuality> passes;

 private:
  const Graph& graph_;
  const SampleSource& train_;
  const Loss& loss_;
  Regulariser regulariser_;
  Threads threads_;
  Evaluator evaluator_;
  std::vector<float> opened_;
};

inline constexpr Moves kAllMoves[] = {Moves::layers, Moves::sweeps, Moves::automatic};

inline RefineOptions small_options(double lambda = 1e-3, Moves moves = Moves::layers) {
  RefineOptions options;
  options.lambda = lambda;
  options.moves = moves;
  options.passes = 2;
  options.max_epochs = 6;
  options.batch = 20;
  return options;
}

// Centres to be tested: the network itself, and somewhere else.
inline std::vector<std::vector<float>> centres(const Graph& graph, std::uint64_t seed) {
  std::vector<float> elsewhere = graph.parameters();
  Random random(seed, 83);
  for (float& x : elsewhere) x += static_cast<float>(0.1 * random.normal());
  return {graph.parameters(), elsewhere};
}

}  // namespace lwsvm
