#include "ssvm/rounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <vector>

#include "base/thread_team.h"
#include "ssvm/bcfw.h"
#include "ssvm/enumerated_oracle.h"
#include "ssvm/frank_wolfe.h"
#include "ssvm/reference_qp.h"
#include "ssvm/solves.h"
#include "ssvm/svm_layer.h"
#include "ssvm/toys.h"

namespace lwsvm {
namespace {

using reference::Planes;

template <typename T>
std::vector<T> part_of(const std::vector<T>& all, Team& team) {
  const std::int64_t count = std::ssize(all);
  return {all.begin() + part_begin(count, team.rank(), team.size()),
          all.begin() + part_begin(count, team.rank() + 1, team.size())};
}

toys::Data part_of(const toys::Data& all, Team& team) {
  toys::Data part{part_size(all.samples, team.rank(), team.size()), all.width, all.classes, {}, {}};
  part.labels = part_of(all.labels, team);
  const auto first = all.features.begin() + part_begin(all.samples, team.rank(), team.size()) * all.width;
  part.features.assign(first, first + part.samples * all.width);
  return part;
}

// All that the ranks claim, held against planes that are known one by one.
TEST(RoundsOfThreads, TheDualNeverFallsAndTheGapIsPrimalMinusDual) {
  for (const int ranks : {1, 2, 3, 4})
    for (const int batches : {1, 3})
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const double lambda = 0.05, mu = seed % 2 == 0 ? 0.0 : 0.5;
        const Planes all = toys::random_planes(30, 5, 8, seed);
        const auto anchor = toys::random_weights(8, 1, seed);
        with_ranks(ranks, [&](Team& team) {
          const Threads threads(1);
          const Planes planes = part_of(all, team);
          toys::EnumeratedOracle oracle(planes);
          FrankWolfe blocks(oracle, StepRule::per_block, threads);
          BcfwOptions options = options_for(lambda, mu, 3, seed);
          options.rounds.batches = batches;
          BcfwSolver solver(blocks, anchor, options, threads, {}, team);
          double before = solver.state().dual();
          const auto check = [&](const SolveProgress& progress) {
            const auto w = doubles(solver.weights().exact);
            const double gap = sum(team, oracle.gap_sum(w)) / 30;
            const double primal = reference::primal(all, doubles(anchor), lambda, mu, w);
            EXPECT_NEAR(primal - progress.dual, gap, 1e-6 * (1 + primal));
            EXPECT_GE(gap, -1e-12);
            EXPECT_GE(progress.dual, before - 1e-9) << ranks << " ranks";
            EXPECT_NEAR(solver.mean_loss(solver.weights()) + solver.state().regulariser(), primal,
                        1e-9 * (1 + primal));
            before = progress.dual;
            return true;
          };
          solver.solve(until_relative_gap(0, 25), check);
        });
      }
}

TEST(RoundsOfThreads, MeetTheIndependentQpSolution) {
  for (const int ranks : {2, 3, 7}) {  // 7: one more than there are samples
    const Planes all = toys::random_planes(6, 3, 4, 11);
    const auto anchor = toys::random_weights(4, 0.5, 12);
    const auto truth = reference::solve(all, doubles(anchor), 0.3, 0.7);
    with_ranks(ranks, [&](Team& team) {
      const Threads threads(1);
      const Planes planes = part_of(all, team);
      if (planes.empty()) {
        NoBlocks blocks(4);
        BcfwSolver solver(blocks, anchor, options_for(0.3, 0.7, 1, 5), threads, {}, team);
        EXPECT_NEAR(solver.solve(until_relative_gap(1e-5, 100000)).primal, truth.primal, 1e-4);
        return;
      }
      toys::EnumeratedOracle oracle(planes);
      FrankWolfe blocks(oracle, StepRule::per_block, threads);
      BcfwSolver solver(blocks, anchor, options_for(0.3, 0.7, 1, 5), threads, {}, team);
      const Summary summary = solver.solve(until_relative_gap(1e-5, 100000));
      EXPECT_EQ(summary.reason, StopReason::gap_closed) << "gap " << summary.gap;
      EXPECT_NEAR(summary.primal, truth.primal, 2e-5 * truth.primal);
      EXPECT_LE(summary.dual, truth.primal + 1e-6);
    });
  }
}

// What a solver comes to, and what its blocks say that Psi is.
struct Outcome {
  std::vector<double> w, psi;
  double dual = 0, primal = 0;
};

// kind 0: exact, 1: labels, 2: factored, 3: explicit.
Outcome solve_part(Team& team, const toys::Data& all, int kind, int max_epochs,
                   Combination combination = Combination::together) {
  const Threads threads(1);
  const toys::Data data = part_of(all, team);
  const MarginMatrix margin(all.classes);
  DenseFeatures rows(data.features.data(), data.samples, data.width);
  toys::LinearLabelModel labels(data, threads);
  toys::LinearFactoredModel factored(data, margin);
  toys::LinearExplicitModel planes(data, margin);
  SvmLayer exact(rows, data.labels, margin, threads);
  LabelOracle label_oracle(labels, data.labels, margin);
  FactoredOracle factored_oracle(factored, threads);
  ExplicitOracle explicit_oracle(planes, threads);
  Oracle* oracles[] = {nullptr, &label_oracle, &factored_oracle, &explicit_oracle};
  std::unique_ptr<FrankWolfe> searched;
  if (kind > 0) searched = std::make_unique<FrankWolfe>(*oracles[kind], StepRule::per_block, threads);
  BlockAscent& blocks = kind == 0 ? static_cast<BlockAscent&>(exact) : *searched;
  BcfwOptions options = options_for(0.01, 0.02, 10, 3);
  options.rounds.combination = combination;
  options.rounds.batches = 2;
  BcfwSolver solver(blocks, toys::random_weights(all.dimension(), 0.1, 9), options, threads, {}, team);
  const Summary summary = solver.solve(until_relative_gap(1e-3, max_epochs));

  Outcome outcome{doubles(solver.weights().exact), {}, summary.dual, summary.primal};
  // Of points alpha:  psi = sum_i (alpha_i - e_{y_i}) (x) (z_i, 1).
  if (kind <= 1) {
    const LabelBlocks& points = kind == 0 ? exact.points() : label_oracle.points();
    outcome.psi.assign(outcome.w.size(), 0.0);
    std::vector<float> alpha(static_cast<std::size_t>(all.classes));
    for (std::int64_t i = 0; i < data.samples; ++i) {
      points.read(i, alpha);
      for (int y = 0; y < all.classes; ++y) {
        const double weight = alpha[y] - (y == data.labels[i] ? 1.0 : 0.0);
        for (std::int64_t j = 0; j < data.width; ++j)
          outcome.psi[y * data.width + j] += weight * data.row(i)[j];
        outcome.psi[all.classes * data.width + y] += weight;
      }
    }
    add_up(team, outcome.psi);
    for (std::size_t j = 0; j < outcome.psi.size(); ++j)
      EXPECT_NEAR(outcome.psi[j], solver.state().psi()[j], 2e-3) << "kind " << kind;
  }
  return outcome;
}

TEST(RoundsOfThreads, EveryFormOfBlocksComesToTheCertificateOfOneRank) {
  const toys::Data all = toys::clouds(90, 4, 3, 1.2, 21);
  for (int kind = 0; kind < 4; ++kind) {
    const Outcome truth = solve_part(alone(), all, kind, 3000);
    for (const auto combination : {Combination::together, Combination::steps})
      for (const int ranks : {2, 4})
        with_ranks(ranks, [&](Team& team) {
          const Outcome found = solve_part(team, all, kind, 3000, combination);
          EXPECT_LE(found.primal - found.dual, 1e-3 * found.primal) << "kind " << kind;
          EXPECT_GE(found.primal, truth.dual - 1e-5);  // weak duality, across the two
          EXPECT_GE(truth.primal, found.dual - 1e-5);
        });
  }
}

TEST(RoundsOfThreads, AllRanksAndEveryRunHaveTheSameBits) {
  const toys::Data all = toys::clouds(61, 5, 4, 1.2, 22);
  for (int kind = 0; kind < 4; ++kind) {
    std::vector<Outcome> outcomes;
    std::mutex mutex;
    for (int run = 0; run < 2; ++run)
      with_ranks(3, [&](Team& team) {
        Outcome outcome = solve_part(team, all, kind, 20);
        const std::scoped_lock lock(mutex);
        outcomes.push_back(std::move(outcome));
      });
    ASSERT_EQ(outcomes.size(), 6u);
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.w, outcomes[0].w) << "kind " << kind;
      EXPECT_EQ(outcome.dual, outcomes[0].dual);
      EXPECT_EQ(outcome.primal, outcomes[0].primal);
    }
  }
}

// Ranks that choose the steps of one batch together see what one rank sees: only the order is another.
TEST(RoundsOfThreads, OneBatchOfAllRanksMovesAsThatOfOneRank) {
  const auto dual_after_one_epoch = [&](Team& team, const toys::Data& all, bool exact) {
    const MarginMatrix margin(all.classes);
    const auto anchor = toys::random_weights(all.dimension(), 0.1, 9);
    const Threads threads(1);
    const toys::Data data = part_of(all, team);
    DenseFeatures rows(data.features.data(), data.samples, data.width);
    toys::LinearFactoredModel model(data, margin);
    SvmLayer layer(rows, data.labels, margin, threads, {.sweeps = 300, .enough = 1e-9});
    FactoredOracle oracle(model, threads);
    FrankWolfe searched(oracle, StepRule::per_block, threads, {.sweeps = 1000, .enough = 1e-9});
    BlockAscent& blocks = exact ? static_cast<BlockAscent&>(layer) : searched;
    BcfwOptions options = options_for(0.05, 0.02, 60 / team.size(), 3);
    BcfwSolver solver(blocks, anchor, options, threads, {}, team);
    return solver.solve(until_relative_gap(0, 1)).dual;
  };
  for (const int width : {5, 300})  // the Gram matrix computed by each, and in parts
    for (const bool exact : {true, false}) {
      const toys::Data all = toys::clouds(60, width, 4, 1.2, 23);
      const double truth = dual_after_one_epoch(alone(), all, exact);
      for (const int ranks : {2, 4})
        with_ranks(ranks, [&](Team& team) {
          EXPECT_NEAR(dual_after_one_epoch(team, all, exact), truth, 1e-5 * std::abs(truth))
              << ranks << " ranks, width " << width;
        });
    }
}

// And so as many epochs as one rank, or hardly more.
TEST(RoundsOfThreads, ChoosingStepsTogetherTakesTheEpochsOfOneRank) {
  const toys::Data all = toys::clouds(400, 6, 5, 1.5, 24);
  const MarginMatrix margin(all.classes);
  const auto epochs = [&](Team& team, bool exact) {
    const Threads threads(1);
    const toys::Data data = part_of(all, team);
    DenseFeatures rows(data.features.data(), data.samples, data.width);
    toys::LinearFactoredModel model(data, margin);
    SvmLayer layer(rows, data.labels, margin, threads);
    FactoredOracle oracle(model, threads);
    FrankWolfe searched(oracle, StepRule::per_block, threads);
    BlockAscent& blocks = exact ? static_cast<BlockAscent&>(layer) : searched;
    BcfwSolver solver(blocks, std::vector<float>(all.dimension(), 0.0f),
                      options_for(0.01, 0, 40 / team.size(), 3), threads, {}, team);
    const Summary summary = solver.solve(until_relative_gap(0.02, 500));
    EXPECT_EQ(summary.reason, StopReason::gap_closed);
    return summary.epochs;
  };
  for (const bool exact : {true, false}) {
    const int truth = epochs(alone(), exact);
    with_ranks(4, [&](Team& team) { EXPECT_LE(epochs(team, exact), 1.3 * truth + 1); });
  }
}

TEST(VectorExchangeOfThreads, GivesTheWeightedSumAndTheInnerProducts) {
  for (const std::size_t length : {1u, 3u, 10u, 1001u})
    for (const int ranks : {1, 2, 4}) {
      std::vector<std::vector<float>> vectors;
      for (int k = 0; k < ranks; ++k)
        vectors.push_back(toys::random_weights(static_cast<std::int64_t>(length), 1, 50 + k));
      with_ranks(ranks, [&](Team& team) {
        VectorExchange exchange(team);
        exchange.scatter(vectors[team.rank()]);
        const std::vector<double> gram = exchange.gram();
        std::vector<double> factors;
        for (int k = 0; k < ranks; ++k) factors.push_back(0.5 + k);
        std::vector<float> result(length);
        exchange.combine(factors, result);
        for (std::size_t j = 0; j < length; ++j) {
          double expected = 0;
          for (int k = 0; k < ranks; ++k) expected += factors[k] * vectors[k][j];
          EXPECT_NEAR(result[j], expected, 1e-6 * (1 + std::abs(expected)));
        }
        for (int k = 0; k < ranks; ++k)
          for (int l = 0; l < ranks; ++l)
            EXPECT_NEAR(gram[k * ranks + l], reference::dot(doubles(vectors[k]), doubles(vectors[l])), 1e-6);
      });
    }
}

TEST(Parts, OfAnyNumberCoverItOnceAndDifferByOne) {
  for (const std::int64_t count : {0, 1, 5, 60000})
    for (const std::int64_t ranks : {1, 2, 3, 7}) {
      EXPECT_EQ(part_begin(count, 0, ranks), 0);
      EXPECT_EQ(part_begin(count, ranks, ranks), count);
      for (std::int64_t k = 0; k < ranks; ++k) {
        EXPECT_GE(part_size(count, k, ranks), count / ranks);
        EXPECT_LE(part_size(count, k, ranks), (count + ranks - 1) / ranks);
      }
    }
}

}  // namespace
}  // namespace lwsvm
