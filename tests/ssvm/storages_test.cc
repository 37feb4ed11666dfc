// The three block forms, the exact solver and the checkpoint on one linear problem.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "ssvm/bcfw.h"
#include "ssvm/frank_wolfe.h"
#include "ssvm/reference_qp.h"
#include "ssvm/toys.h"
#include "ssvm/vector_math.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

enum class Form { label, factored, explicit_rows, exact };
constexpr Form kForms[] = {Form::label, Form::factored, Form::explicit_rows, Form::exact};

// A solver with everything it looks at.
struct Machine {
  Machine(const toys::Data& data, const MarginMatrix& margin, Form form, const BcfwOptions& options,
          const Threads& threads, const std::vector<float>& anchor) {
    if (form == Form::label) {
      label_model = std::make_unique<toys::LinearLabelModel>(data, threads);
      oracle = std::make_unique<LabelOracle>(*label_model, data.labels, margin);
    } else if (form == Form::factored) {
      factored_model = std::make_unique<toys::LinearFactoredModel>(data, margin);
      oracle = std::make_unique<FactoredOracle>(*factored_model, threads);
    } else if (form == Form::explicit_rows) {
      explicit_model = std::make_unique<toys::LinearExplicitModel>(data, margin);
      oracle = std::make_unique<ExplicitOracle>(*explicit_model, threads);
    } else {
      rows = std::make_unique<DenseFeatures>(data.features.data(), data.samples, data.width);
      blocks = std::make_unique<SvmLayer>(*rows, data.labels, margin, threads);
    }
    if (oracle) blocks = std::make_unique<FrankWolfe>(*oracle, StepRule::per_block, threads);
    solver = std::make_unique<BcfwSolver>(*blocks, anchor, options, threads);
  }

  std::unique_ptr<toys::LinearLabelModel> label_model;
  std::unique_ptr<toys::LinearFactoredModel> factored_model;
  std::unique_ptr<toys::LinearExplicitModel> explicit_model;
  std::unique_ptr<DenseFeatures> rows;
  std::unique_ptr<Oracle> oracle;
  std::unique_ptr<BlockAscent> blocks;
  std::unique_ptr<BcfwSolver> solver;
};

BcfwOptions some_options(int batch) {
  BcfwOptions options;
  options.lambda = 0.02;
  options.mu = 0.05;
  options.schedule.batch_size = batch;
  options.seed = 11;
  return options;
}

StoppingOptions epochs(int count) {
  StoppingOptions stopping;
  stopping.gap_fraction = 0;
  stopping.relative_gap = 0;
  stopping.max_epochs = count;
  return stopping;
}

// Over one epoch: once a block has moved, two of its planes tie (that is what the step aims at), and
// rounding, which differs from form to form and between instruction sets, may decide which of them comes
// next.
TEST(Storages, AllThreeGiveTheSameIterates) {
  const Threads threads(1);
  const auto margin = toys::random_margin(4, 5);
  for (const std::uint64_t seed : {3, 4, 5, 6, 7, 8, 9, 10}) {
    const auto data = toys::clouds(60, 4, 4, 1.2, seed);
    const auto anchor = toys::random_weights(data.dimension(), 0.2, 6);
    std::vector<std::vector<double>> dual_paths;
    for (const Form form : {Form::label, Form::factored, Form::explicit_rows}) {
      Machine machine(data, margin, form, some_options(12), threads, anchor);
      auto& path = dual_paths.emplace_back();
      machine.solver->solve(epochs(1), [&](const SolveProgress& progress) {
        path.push_back(progress.dual);
        return true;
      });
      const auto w = machine.solver->weights().exact;
      path.insert(path.end(), w.begin(), w.end());
    }
    for (std::size_t k = 0; k < dual_paths[0].size(); ++k) {
      EXPECT_NEAR(dual_paths[0][k], dual_paths[1][k], 1e-5);
      EXPECT_NEAR(dual_paths[0][k], dual_paths[2][k], 1e-5);
    }
  }
}

TEST(Storages, AllFormsReachTheQpSolutionWithACertificateThatIsTrue) {
  const Threads threads(1);
  const auto data = toys::clouds(24, 3, 3, 1.0, 8);
  const auto margin = toys::random_margin(3, 2);
  const auto anchor = toys::random_weights(data.dimension(), 0.2, 6);
  const auto planes = reference::linear_planes(data, margin);
  const std::vector<double> exact_anchor(anchor.begin(), anchor.end());
  const auto truth = reference::solve(planes, exact_anchor, 0.02, 0.05);
  for (const Form form : kForms) {
    Machine machine(data, margin, form, some_options(6), threads, anchor);
    StoppingOptions stopping = epochs(30000);
    // Blocks remember float32, and steps end at its rounding: a gap of 1e-5 is just in reach, or just not.
    const double tolerance = form == Form::exact ? 1e-6 : 2e-5;
    stopping.relative_gap = tolerance;
    const Summary summary = machine.solver->solve(stopping);
    EXPECT_EQ(summary.reason, StopReason::gap_closed) << static_cast<int>(form) << " gap " << summary.gap;
    const auto w = machine.solver->weights().exact;
    EXPECT_NEAR(summary.primal, reference::primal(planes, exact_anchor, 0.02, 0.05, {w.begin(), w.end()}),
                1e-6);
    EXPECT_NEAR(summary.primal, truth.primal, tolerance);
    EXPECT_NEAR(summary.dual, truth.primal, tolerance);
  }
}

TEST(Storages, TheDualNeverFallsAndBoundsTheOptimum) {
  const Threads threads(1);
  const auto data = toys::clouds(200, 6, 5, 1.5, 9);
  const auto margin = MarginMatrix::zero_one(5);
  const std::vector<float> zero(static_cast<std::size_t>(data.dimension()), 0.0f);
  for (const Form form : kForms) {
    BcfwOptions options = some_options(32);
    options.mu = 0;
    Machine machine(data, margin, form, options, threads, zero);
    double before = machine.solver->state().dual();
    const Summary summary = machine.solver->solve(epochs(60), [&](const SolveProgress& progress) {
      EXPECT_GE(progress.dual, before - 2e-8);
      before = progress.dual;
      return true;
    });
    EXPECT_GE(summary.gap, -1e-6);
    EXPECT_NEAR(summary.mean_loss + machine.solver->state().regulariser(), summary.primal, 1e-12);
  }
}

TEST(Storages, TheMeanOfTheBlockGapsIsPrimalMinusDualAlsoAfterManyUpdates) {
  const Threads threads(1);
  const auto data = toys::clouds(150, 6, 5, 1.5, 13);
  const auto margin = toys::random_margin(5, 1);
  const auto anchor = toys::random_weights(data.dimension(), 0.2, 6);
  std::vector<std::int32_t> all(150);
  for (int i = 0; i < 150; ++i) all[i] = i;
  for (const Form form : {Form::label, Form::factored, Form::explicit_rows}) {
    Machine machine(data, margin, form, some_options(16), threads, anchor);
    for (const int count : {1, 3, 30, 300}) {
      machine.solver->solve(epochs(count));
      std::vector<double> losses(150), gaps(150);
      machine.oracle->find_planes(all, machine.solver->weights(), losses, gaps);
      const double gap = std::accumulate(gaps.begin(), gaps.end(), 0.0) / 150;
      const double primal = machine.solver->primal_at(machine.solver->weights());
      EXPECT_NEAR(primal - machine.solver->state().dual(), gap, 2e-6 * primal)
          << static_cast<int>(form) << " " << count;
    }
  }
}

TEST(Storages, SavedAnywhereAndRestoredContinueToTheSameBits) {
  const Threads threads(1);
  const auto data = toys::clouds(90, 5, 4, 1.3, 10);
  const auto margin = toys::random_margin(4, 3);
  const auto anchor = toys::random_weights(data.dimension(), 0.2, 2);
  Random random(17);
  const TemporaryFolder folder;
  for (const Form form : kForms)
    for (int trial = 0; trial < 6; ++trial) {
      StoppingOptions stopping = epochs(6 + trial);
      stopping.relative_gap = 1e-3;
      Machine whole(data, margin, form, some_options(16), threads, anchor);
      const Summary expected = whole.solver->solve(stopping);

      auto running = std::make_unique<Machine>(data, margin, form, some_options(16), threads, anchor);
      Summary summary;
      int interruptions = 0;
      do {
        auto batches_left = static_cast<int>(random.below(15));
        summary = running->solver->solve(stopping, [&](const SolveProgress&) { return batches_left-- > 0; });
        {
          Checkpoint saved;  // looks at the solver until it is written
          auto saving = StateArchive::saving_to(saved);
          running->solver->visit(saving);
          saved.save(folder / "checkpoint.bin");
        }
        Checkpoint checkpoint = Checkpoint::load(folder / "checkpoint.bin");
        BcfwOptions other_seed = some_options(16);
        other_seed.seed = 999;
        running = std::make_unique<Machine>(data, margin, form, other_seed, threads, anchor);
        auto loading = StateArchive::loading_from(checkpoint);
        running->solver->visit(loading);
      } while (summary.reason == StopReason::interrupted && ++interruptions < 1000);

      EXPECT_GT(interruptions, 0);
      EXPECT_EQ(summary.reason, expected.reason);
      EXPECT_EQ(summary.epochs, expected.epochs);
      EXPECT_EQ(summary.visits, expected.visits);
      EXPECT_EQ(summary.primal, expected.primal);
      EXPECT_EQ(summary.dual, expected.dual);
      const auto a = whole.solver->weights().exact, b = running->solver->weights().exact;
      EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
      EXPECT_EQ(whole.solver->average_weights(), running->solver->average_weights());
    }
}

TEST(Storages, ACheckpointOfAnotherProblemIsRefused) {
  const Threads threads(1);
  const auto data = toys::clouds(20, 3, 3, 1, 1), other = toys::clouds(21, 3, 3, 1, 1);
  const auto margin = MarginMatrix::zero_one(3);
  const std::vector<float> zero(static_cast<std::size_t>(data.dimension()), 0.0f);
  for (const Form form : kForms) {
    Machine one(data, margin, form, some_options(4), threads, zero);
    Machine two(other, margin, form, some_options(4), threads, zero);
    Checkpoint checkpoint;
    auto saving = StateArchive::saving_to(checkpoint);
    one.solver->visit(saving);
    auto loading = StateArchive::loading_from(checkpoint);
    EXPECT_THROW(two.solver->visit(loading), Error);
  }
}

TEST(Storages, ResultsDoNotDependOnTheNumberOfThreads) {
  // Large enough that every parallel path is taken: gemm pieces, vector ranges.
#ifdef LWSVM_SANITIZED
  const int samples = 150;
#else
  const int samples = 400;
#endif
  const auto data = toys::clouds(samples, 7000, 12, 3, 12);
  const auto margin = MarginMatrix::zero_one(12);
  const auto anchor = toys::random_weights(data.dimension(), 0.001, 2);
  ASSERT_GT(data.dimension(), kVectorRange);
  for (const Form form : {Form::label, Form::exact, Form::factored}) {
    BcfwOptions options = some_options(100);
    options.lambda = 10;
    std::vector<std::vector<double>> results;
    for (const int count : {1, 2}) {
      const Threads threads(count);
      Machine machine(data, margin, form, options, threads, anchor);
      const Summary summary = machine.solver->solve(epochs(2));
      auto& result = results.emplace_back(machine.solver->average_weights());
      const auto w = machine.solver->weights().exact;
      result.insert(result.end(), w.begin(), w.end());
      result.push_back(summary.primal);
      result.push_back(summary.dual);
    }
    EXPECT_TRUE(results[0] == results[1]);
  }
}

TEST(Storages, LabelFormStaysWithin16BytesPerSampleAndNonzero) {
  const Threads threads(1);
  const auto data = toys::clouds(6000, 5, 10, 1.5, 4);
  const auto margin = MarginMatrix::zero_one(10);
  const std::vector<float> zero(static_cast<std::size_t>(data.dimension()), 0.0f);
  BcfwOptions options = some_options(200);
  options.lambda = 1e-3;
  options.mu = 0;
  Machine label(data, margin, Form::label, options, threads, zero);
  Machine exact(data, margin, Form::exact, options, threads, zero);
  const auto within = [&](const LabelBlocks& blocks) { return blocks.bytes() <= 16 * blocks.nonzeros(); };
  label.solver->solve(epochs(5), [&](const SolveProgress& p) {
    EXPECT_TRUE(!p.epoch_end || within(static_cast<LabelOracle&>(*label.oracle).points()));
    return true;
  });
  exact.solver->solve(epochs(5), [&](const SolveProgress& p) {
    EXPECT_TRUE(!p.epoch_end || within(static_cast<SvmLayer&>(*exact.blocks).points()));
    return true;
  });
}

// Inner products of 1e30 do not fit float32, those of 1e15 do; an anchor of 1e30 makes the scores infinite.
TEST(Storages, NumbersThatOverflowEndTheSolveInEveryForm) {
  const Threads threads(2);
  const auto margin = toys::random_margin(4, 5);
  for (const Form form : kForms)
    for (const float scale : {1e15f, 1e25f, 1e37f})
      for (const double anchor_scale : {0.0, 1.0, 1e30}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(form) << ", " << scale << ", " << anchor_scale);
        auto data = toys::clouds(60, 4, 4, 1.2, 3);
        for (float& feature : data.features) feature *= scale;
        const auto anchor = toys::random_weights(data.dimension(), anchor_scale, 6);
        Machine machine(data, margin, form, some_options(12), threads, anchor);
        const Summary summary = machine.solver->solve(epochs(5));
        if (scale > 1e30f && anchor_scale > 1) {
          EXPECT_EQ(summary.reason, StopReason::overflow);
        }
        EXPECT_TRUE(summary.reason == StopReason::overflow || std::isfinite(summary.dual));
      }
}

// State may be of gigabytes: a checkpoint that is being made does not double it.
TEST(StateArchive, LooksAtArraysAndTakesWhatWasMadeForIt) {
  Checkpoint checkpoint;
  StateArchive archive = StateArchive::saving_to(checkpoint);
  std::vector<float> state{1, 2, 3};
  archive.array("state", state);
  archive.array_of_same_size("same", state);
  EXPECT_EQ(checkpoint.get<float>("state").data(), state.data());
  EXPECT_EQ(checkpoint.get<float>("same").data(), state.data());
  std::vector<double> made{4, 5};
  const double* const place = made.data();
  archive.made_array("made", made);
  EXPECT_EQ(checkpoint.get<double>("made").data(), place);
  EXPECT_EQ(checkpoint.get<double>("made")[1], 5);
}

}  // namespace
}  // namespace lwsvm
