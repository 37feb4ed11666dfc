#include "ssvm/bcfw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "repetitions.h"
#include "ssvm/enumerated_oracle.h"
#include "ssvm/frank_wolfe.h"
#include "ssvm/reference_qp.h"
#include "ssvm/solves.h"

namespace lwsvm {
namespace {

using reference::Planes;

TEST(Bcfw, PrimalAndDualMeetTheIndependentQpSolution) {
  const Threads threads(1);
  const auto problems = static_cast<std::uint64_t>(repetitions(4, 1));
  for (std::uint64_t seed = 0; seed < problems; ++seed)
    for (const double mu : {0.0, 0.7}) {
      const Planes planes = toys::random_planes(6, 3, 4, seed);
      const auto anchor = toys::random_weights(4, 0.5, seed + 100);
      const auto truth = reference::solve(planes, doubles(anchor), 0.3, mu);
      toys::EnumeratedOracle oracle(planes);
      FrankWolfe blocks(oracle, StepRule::per_block, threads);
      BcfwSolver solver(blocks, anchor, options_for(0.3, mu, 3, seed), threads);
      // Frank-Wolfe without away steps closes the gap as 1/k: hundreds of thousands of epochs for the last
      // digits.
      const Summary summary = solver.solve(until_relative_gap(9e-7 / truth.primal, 2000000));
      EXPECT_EQ(summary.reason, StopReason::gap_closed) << "seed " << seed << " gap " << summary.gap;
      EXPECT_TRUE(summary.certified);
      EXPECT_NEAR(summary.primal, truth.primal, 1e-6);
      EXPECT_NEAR(summary.dual, truth.primal, 1e-6);
      EXPECT_LE(summary.dual, truth.primal + 1e-8);
      EXPECT_NEAR(reference::primal(planes, doubles(anchor), 0.3, mu, doubles(solver.weights().exact)),
                  summary.primal, 1e-9);
    }
}

TEST(Bcfw, GapIsPrimalMinusDualAndTheDualNeverFalls) {
  const Threads threads(1);
  for (const StepRule rule : {StepRule::per_block, StepRule::single})
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const double lambda = 0.05, mu = seed % 2 == 0 ? 0.0 : 0.5;
      const Planes planes = toys::random_planes(30, 5, 8, seed);
      const auto anchor = toys::random_weights(8, 1, seed);
      toys::EnumeratedOracle oracle(planes);
      FrankWolfe blocks(oracle, rule, threads);
      BcfwSolver solver(blocks, anchor, options_for(lambda, mu, 7, seed), threads);
      double before = solver.state().dual();
      const auto check = [&](const SolveProgress& progress) {
        const auto w = doubles(solver.weights().exact);
        const double primal = reference::primal(planes, doubles(anchor), lambda, mu, w);
        const double gap = oracle.gap_sum(w) / 30;
        EXPECT_NEAR(primal - progress.dual, gap, 1e-6 * (1 + primal));
        EXPECT_GE(gap, -1e-12);
        EXPECT_GE(progress.dual, before - 1e-9);
        EXPECT_NEAR(solver.state().regulariser(), solver.state().regulariser_at(w), 1e-10 * (1 + primal));
        before = progress.dual;
        return true;
      };
      solver.solve(until_relative_gap(0, 40), check);
    }
}

TEST(Bcfw, StartsAtTheShrunkAnchorWithTheDualOfTheFormula) {
  const Threads threads(1);
  const Planes planes = toys::random_planes(4, 3, 6, 1);
  const auto anchor = toys::random_weights(6, 1, 2);
  toys::EnumeratedOracle oracle(planes);
  FrankWolfe blocks(oracle, StepRule::per_block, threads);
  const double lambda = 0.2, mu = 0.6, rho = mu / (lambda + mu);
  const BcfwSolver solver(blocks, anchor, options_for(lambda, mu, 2, 0), threads);
  double norm = 0;
  for (int j = 0; j < 6; ++j) {
    EXPECT_DOUBLE_EQ(solver.weights().exact[j], rho * anchor[j]);
    norm += static_cast<double>(anchor[j]) * anchor[j];
  }
  EXPECT_NEAR(solver.state().dual(), 0.5 * lambda * mu / (lambda + mu) * norm, 1e-12);
}

// With v = w - c the problem is one around zero: anchor - c, and offsets ell + <psi, c>.
struct Shifted {
  Planes planes;
  std::vector<double> anchor;
};
Shifted shift(Planes planes, std::span<const float> anchor, std::span<const float> centre) {
  const std::vector<double> c = doubles(centre);
  for (auto& sample : planes)
    for (auto& plane : sample) plane.ell += reference::dot(plane.psi, c);
  Shifted shifted{std::move(planes), doubles(anchor)};
  for (std::size_t j = 0; j < c.size(); ++j) shifted.anchor[j] -= c[j];
  return shifted;
}
std::vector<double> minus(std::vector<double> w, std::span<const float> centre) {
  for (std::size_t j = 0; j < w.size(); ++j) w[j] -= static_cast<double>(centre[j]);
  return w;
}

TEST(CentredBcfw, MeetsTheIndependentSolutionOfTheShiftedProblem) {
  const Threads threads(1);
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (const double mu : {0.0, 0.7}) {
      const Planes planes = toys::random_planes(6, 3, 4, seed);
      const auto anchor = toys::random_weights(4, 0.5, seed + 100);
      const auto centre = toys::random_weights(4, 0.8, seed + 200);
      const Shifted shifted = shift(planes, anchor, centre);
      const auto truth = reference::solve(shifted.planes, shifted.anchor, 0.3, mu);
      toys::EnumeratedOracle oracle(planes);
      FrankWolfe blocks(oracle, StepRule::per_block, threads);
      BcfwSolver solver(blocks, anchor, options_for(0.3, mu, 3, seed), threads, centre);
      const Summary summary = solver.solve(until_relative_gap(1e-5, 500000));
      EXPECT_EQ(summary.reason, StopReason::gap_closed) << "seed " << seed << " gap " << summary.gap;
      EXPECT_NEAR(summary.primal, truth.primal, 2e-5 * truth.primal + 1e-8);
      EXPECT_LE(summary.dual, truth.primal + 1e-6);  // steps and their planes are float
      const auto v = minus(doubles(solver.weights().exact), centre);
      double distance = 0;  // P is strongly convex: a small gap is a small distance
      for (std::size_t j = 0; j < v.size(); ++j) distance += std::pow(v[j] - truth.w[j], 2);
      EXPECT_LE(0.5 * (0.3 + mu) * distance, summary.gap + 1e-6);
      EXPECT_NEAR(reference::primal(shifted.planes, shifted.anchor, 0.3, mu, v), summary.primal, 1e-9);
    }
}

TEST(CentredBcfw, GapIsPrimalMinusDualAndTheDualNeverFalls) {
  const Threads threads(1);
  for (const StepRule rule : {StepRule::per_block, StepRule::single})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const double lambda = 0.05, mu = seed % 2 == 0 ? 0.0 : 0.5;
      const Planes planes = toys::random_planes(30, 5, 8, seed);
      const auto anchor = toys::random_weights(8, 1, seed);
      const auto centre = seed < 2 ? anchor : toys::random_weights(8, 1, seed + 50);
      const Shifted shifted = shift(planes, anchor, centre);
      toys::EnumeratedOracle oracle(planes);
      FrankWolfe blocks(oracle, rule, threads);
      BcfwSolver solver(blocks, anchor, options_for(lambda, mu, 7, seed), threads, centre);
      double before = solver.state().dual();
      const auto check = [&](const SolveProgress& progress) {
        const auto w = doubles(solver.weights().exact);
        const double primal = reference::primal(shifted.planes, shifted.anchor, lambda, mu, minus(w, centre));
        const double gap = oracle.gap_sum(w) / 30;
        EXPECT_NEAR(primal - progress.dual, gap, 1e-6 * (1 + primal));
        EXPECT_GE(progress.dual, before - 1e-9);
        EXPECT_NEAR(solver.state().regulariser(), solver.state().regulariser_at(w), 1e-10 * (1 + primal));
        before = progress.dual;
        return true;
      };
      solver.solve(until_relative_gap(0, 40), check);
      EXPECT_NEAR(solver.primal_at(WeightVector(std::span<const float>(anchor)).view()),
                  reference::primal(shifted.planes, shifted.anchor, lambda, mu, shifted.anchor), 1e-6);
    }
}

TEST(CentredBcfw, StartsBetweenCentreAndAnchor) {
  const Threads threads(1);
  const Planes planes = toys::random_planes(4, 3, 6, 1);
  const auto anchor = toys::random_weights(6, 1, 2), centre = toys::random_weights(6, 1, 3);
  toys::EnumeratedOracle oracle(planes);
  FrankWolfe blocks(oracle, StepRule::per_block, threads);
  const BcfwSolver between(blocks, anchor, options_for(0.2, 0.6, 2, 0), threads, centre);
  const BcfwSolver there(blocks, anchor, options_for(0.2, 0.6, 2, 0), threads, anchor);
  for (int j = 0; j < 6; ++j) {
    EXPECT_NEAR(between.weights().exact[j], 0.25 * centre[j] + 0.75 * anchor[j], 1e-12);
    EXPECT_EQ(there.weights().rounded[j], anchor[j]) << "a centre at the anchor pulls nowhere";
  }
}

TEST(CentredBcfw, ACentreOfZerosIsNoCentre) {
  const Threads threads(1);
  const Planes planes = toys::random_planes(12, 4, 6, 3);
  const auto anchor = toys::random_weights(6, 1, 2);
  std::vector<std::vector<double>> found, averages;
  for (const std::vector<float>& centre : {std::vector<float>{}, std::vector<float>(6, 0.0f)}) {
    toys::EnumeratedOracle oracle(planes);
    FrankWolfe blocks(oracle, StepRule::per_block, threads);
    BcfwSolver solver(blocks, anchor, options_for(0.2, 0.6, 3, 5), threads, centre);
    solver.solve(until_relative_gap(0, 10));
    found.push_back(doubles(solver.weights().exact));
    averages.push_back(solver.average_weights());
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(averages[0], averages[1]);
}

TEST(Bcfw, ChangingLambdaOrMuKeepsTheDualFeasible) {
  const Threads threads(1);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Planes planes = toys::random_planes(10, 4, 5, seed);
    const auto anchor = toys::random_weights(5, 0.5, seed);
    toys::EnumeratedOracle oracle(planes);
    FrankWolfe blocks(oracle, StepRule::per_block, threads);
    BcfwSolver solver(blocks, anchor, options_for(0.2, 2.0, 4, seed), threads);
    solver.solve(until_relative_gap(0, 5));
    for (const auto& [lambda, mu] : {std::pair(0.2, 8.0), std::pair(0.2, 0.1), std::pair(0.5, 0.0)}) {
      solver.set_regularisation(lambda, mu);
      const auto truth = reference::solve(planes, doubles(anchor), lambda, mu);
      EXPECT_LE(solver.state().dual(), truth.primal + 1e-8);
      const auto w = doubles(solver.weights().exact);
      EXPECT_NEAR(reference::primal(planes, doubles(anchor), lambda, mu, w) - solver.state().dual(),
                  oracle.gap_sum(w) / 10, 1e-6);
      const Summary summary = solver.solve(until_relative_gap(1e-5, 500000));
      EXPECT_EQ(summary.reason, StopReason::gap_closed);
      EXPECT_NEAR(summary.primal, truth.primal, 2e-5 * truth.primal + 1e-8);
    }
  }
}

// mu falls epoch by epoch to the one that was asked for; within an epoch the dual of its mu never falls, the
// gap is P - D all the way, and what is found in the end is the optimum of the QP at the final mu.
TEST(Bcfw, ApproachesMuFromAboveAndSolvesTheProblemAsked) {
  const Threads threads(1);
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (const double mu : {0.003, 0.7}) {
      const double lambda = 0.3;
      const Planes planes = toys::random_planes(6, 3, 4, seed);
      const auto anchor = toys::random_weights(4, 0.5, seed + 100);
      const auto truth = reference::solve(planes, doubles(anchor), lambda, mu);
      toys::EnumeratedOracle oracle(planes);
      FrankWolfe blocks(oracle, StepRule::per_block, threads);
      BcfwOptions options = options_for(lambda, mu, 3, seed);
      options.first_mu = 30;
      BcfwSolver solver(blocks, anchor, options, threads);
      double expected_mu = 30, dual = solver.state().dual();
      int epoch = 0;
      const auto check = [&](const SolveProgress& progress) {
        if (progress.epoch > 8) return true;
        if (progress.epoch > epoch) {  // after the fall
          epoch = progress.epoch;
          expected_mu /= std::sqrt(10.0);
          if (expected_mu <= std::max(lambda, mu)) expected_mu = mu;
        } else {
          EXPECT_GE(progress.dual, dual - 1e-12);
        }
        dual = progress.dual;
        EXPECT_NEAR(solver.state().mu(), expected_mu, 1e-12);
        const auto w = doubles(solver.weights().exact);
        const double primal = reference::primal(planes, doubles(anchor), lambda, solver.state().mu(), w);
        EXPECT_NEAR(primal - progress.dual, oracle.gap_sum(w) / 6, 1e-6 * (1 + primal));
        return true;
      };
      const Summary summary = solver.solve(until_relative_gap(9e-6 / truth.primal, 2000000), check);
      EXPECT_EQ(solver.state().mu(), mu);
      EXPECT_GT(epoch, 4);
      EXPECT_NEAR(summary.primal, truth.primal, 1e-5);
      EXPECT_NEAR(summary.dual, truth.primal, 1e-5);
    }
}

TEST(Bcfw, TheDefaultRuleGuaranteesThatThePrimalFell) {
  const Threads threads(1);
  const Planes planes = toys::random_planes(40, 6, 6, 3);
  toys::EnumeratedOracle oracle(planes);
  FrankWolfe blocks(oracle, StepRule::per_block, threads);
  BcfwSolver solver(blocks, toys::random_weights(6, 0.3, 4), options_for(0.01, 0.1, 8, 1), threads);
  const Summary summary = solver.solve({});
  EXPECT_EQ(summary.reason, StopReason::gap_closed);
  EXPECT_LE(summary.gap, 0.1 * (summary.anchor_primal - summary.dual) + 1e-12);
  EXPECT_LT(summary.primal, summary.anchor_primal);
}

TEST(Bcfw, ThePapersRuleStopsWhenTheDualStalls) {
  const Threads threads(1);
  const Planes planes = toys::random_planes(40, 6, 6, 3);
  toys::EnumeratedOracle oracle(planes);
  FrankWolfe blocks(oracle, StepRule::single, threads);
  BcfwOptions options = options_for(0.01, 0.1, 8, 1);
  options.schedule.fixed_batches = true;
  BcfwSolver solver(blocks, toys::random_weights(6, 0.3, 4), options, threads);
  StoppingOptions stopping;
  stopping.gap_fraction = 0;
  stopping.min_dual_rise = 0.01;
  stopping.max_epochs = 1000;
  std::vector<double> duals = {solver.state().dual()};
  const Summary summary = solver.solve(stopping, [&](const SolveProgress& progress) {
    if (progress.epoch_end) duals.push_back(progress.dual);
    return true;
  });
  EXPECT_EQ(summary.reason, StopReason::dual_stalled);
  duals.push_back(summary.dual);
  EXPECT_EQ(static_cast<int>(duals.size()), summary.epochs + 1);
  for (std::size_t e = 1; e < duals.size(); ++e)
    EXPECT_EQ(duals[e] - duals[e - 1] < 0.01 * std::abs(duals[e - 1]), e + 1 == duals.size());
}

TEST(Bcfw, AGroupedBlockMovesAsOne) {  // --mode paper: a fixed batch with one step is one block
  const Threads threads(1);
  const auto data = toys::clouds(22, 3, 3, 1, 7);
  const auto margin = MarginMatrix::zero_one(3);
  BcfwOptions options = options_for(0.05, 0.2, 5, 3);
  options.schedule.fixed_batches = true;
  const auto anchor = toys::random_weights(data.dimension(), 0.3, 1);
  toys::LinearLabelModel label_model(data, threads);
  LabelOracle by_sample(label_model, data.labels, margin);
  FrankWolfe single(by_sample, StepRule::single, threads);
  BcfwSolver one(single, anchor, options, threads);

  toys::LinearExplicitModel group_model(data, margin, 5);
  ExplicitOracle by_group(group_model, threads);
  EXPECT_EQ(by_group.blocks(), 5);
  FrankWolfe groups(by_group, StepRule::per_block, threads);
  options.schedule.batch_size = 1;
  BcfwSolver other(groups, anchor, options, threads);

  const auto stopping = until_relative_gap(0, 12);
  const Summary a = one.solve(stopping), b = other.solve(stopping);
  EXPECT_NEAR(a.dual, b.dual, 1e-5);
  EXPECT_NEAR(a.primal, b.primal, 1e-5);
  for (std::int64_t j = 0; j < data.dimension(); ++j)
    EXPECT_NEAR(one.weights().exact[j], other.weights().exact[j], 1e-4);
}

TEST(Bcfw, RestingBlocksDoNotChangeTheOptimumFound) {
  const Threads threads(1);
  const Planes planes = toys::random_planes(60, 3, 4, 9);
  const std::vector<float> zero(4, 0.0f);
  for (const int rest : {0, 1, 8, 128}) {
    toys::EnumeratedOracle oracle(planes);
    FrankWolfe blocks(oracle, StepRule::per_block, threads);
    BcfwOptions options = options_for(0.1, 0, 10, 2);
    options.schedule.longest_rest = rest;
    options.schedule.rest_below = 0.1;
    BcfwSolver solver(blocks, zero, options, threads);
    const Summary summary = solver.solve(until_relative_gap(1e-5, 50000));
    EXPECT_EQ(summary.reason, StopReason::gap_closed);
    EXPECT_NEAR(summary.primal, reference::solve(planes, {0, 0, 0, 0}, 0.1, 0).primal, 2e-5);
    EXPECT_NEAR(reference::primal(planes, {0, 0, 0, 0}, 0.1, 0, doubles(solver.weights().exact)),
                summary.primal, 1e-9);
  }
}

TEST(Bcfw, RefusesBadOptions) {
  const Threads threads(1);
  const Planes planes = toys::random_planes(2, 2, 2, 0);
  toys::EnumeratedOracle oracle(planes);
  FrankWolfe blocks(oracle, StepRule::per_block, threads);
  const std::vector<float> anchor(2, 0.0f);
  EXPECT_THROW(BcfwSolver(blocks, anchor, options_for(0, 0, 1, 0), threads), Error);
  EXPECT_THROW(BcfwSolver(blocks, anchor, options_for(1, -1, 1, 0), threads), Error);
  EXPECT_THROW(BcfwSolver(blocks, anchor, options_for(std::nan(""), 0, 1, 0), threads), Error);
  EXPECT_THROW(BcfwSolver(blocks, anchor, options_for(1, 0, 0, 0), threads), Error);
  StoppingOptions stopping;
  stopping.max_epochs = 0;
  EXPECT_THROW(stopping.validate(), Error);
}

}  // namespace
}  // namespace lwsvm
