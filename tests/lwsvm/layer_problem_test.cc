// Opened layers as structured SVMs: the surrogate, its planes, its dual.
#include "lwsvm/layer_problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "ssvm/bcfw.h"
#include "ssvm/label_oracle.h"
#include "surrogate.h"

namespace lwsvm {
namespace {

constexpr int samples = 53;  // two chunks and a short one
constexpr double clearance = 4e-6;

// A network, data that keeps clear of its kinks, and margins.
struct Case {
  Graph graph;
  VectorSource source;
  MarginMatrix margins;
};

Case make_case(const NamedNet& net, std::uint64_t seed) {
  Graph graph = net.make(seed);
  Random random(seed, 61);
  const MarginMatrix margins = random_margins(classes, random);
  for (std::uint64_t attempt = 0;; ++attempt) {
    VectorSource source = clusters(samples, 1000 * seed + attempt);
    const NaiveSurrogate naive(graph, refinable_layers(graph)[0], source, margins);
    if (naive.kink_at(naive.anchor()) > clearance || attempt == 30) {
      EXPECT_LT(attempt, 30u) << "no data found that keep clear of kinks";
      return {std::move(graph), std::move(source), margins};
    }
  }
}

WeightVector moved(const std::vector<double>& anchor, double spread, Random& random) {
  std::vector<float> w(anchor.begin(), anchor.end());
  for (float& value : w) value += static_cast<float>(random.uniform(-spread, spread));
  return WeightVector(std::span<const float>(w));
}

LayerProblemOptions options_for(int free_layers, LossSplit split = LossSplit::tight) {
  LayerProblemOptions options;
  options.free_layers = free_layers;
  options.split = split;
  return options;
}

std::string expected_form(const Graph& graph, int open, int free_layers) {
  if (free_layer_count(graph, open) == 0) return "exact";
  if (free_layers == 0) return "labels";
  return graph.node(open).layer->kind() == LayerKind::dense ? "factored" : "explicit";
}

template <typename Body>
void for_every_layer(std::uint64_t seed, const Body& body) {
  for (const NamedNet& net : all_nets()) {
    Case chosen = make_case(net, seed);
    for (int open : refinable_layers(chosen.graph)) {
      SCOPED_TRACE(net.name + ", open " + chosen.graph.node(open).name);
      body(chosen, open);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(LayerProblem, SurrogateIsTheOneOfItsDefinition) {
  for_every_layer(1, [](const Case& s, int open) {
    NaiveSurrogate naive(s.graph, open, s.source, s.margins);
    const int all = free_layer_count(s.graph, open);
    for (int free : all == 0 ? std::vector<int>{0} : std::vector<int>{0, all})
      for (LossSplit split : {LossSplit::tight, LossSplit::paper}) {
        if (repetitions(0, 1) && split == LossSplit::paper && free == 0) continue;  // the same
        SCOPED_TRACE("free " + std::to_string(free));
        LayerProblem problem(s.graph, open, s.source, s.margins, options_for(free, split), Threads(2));
        EXPECT_EQ(problem.form(), expected_form(s.graph, open, free));
        EXPECT_EQ(problem.is_svm_layer(), all == 0);
        Random random(2, 62);
        for (double spread : {0.0, 0.02, 0.3, 3.0}) {
          if (repetitions(0, 1) && spread == 0.02) continue;
          const WeightVector w = moved(naive.anchor(), spread, random);
          const double found = problem.blocks().mean_loss(w.view()), truth = naive.true_loss(w.view().exact);
          const double expected = free == 0 ? naive.labels_surrogate(w.view().exact)
                                            : naive.full_surrogate(w.view().exact, split);
          const double tolerance = 5e-6 * (free == 0 ? 1 + expected : naive.size());
          ASSERT_NEAR(found, expected, tolerance) << "spread " << spread;
          ASSERT_GE(found, -tolerance) << "the zero plane is there";
          if (spread == 0) {
            ASSERT_NEAR(found, truth, tolerance) << "tight at w_t";
          }
          if (free == all) {
            ASSERT_GE(found, truth - tolerance) << "the full space lies above the loss";
          }
          if (all == 0) {
            ASSERT_NEAR(found, truth, tolerance) << "the SVM layer's model is exact";
          }
        }
      }
  });
}

// H_k <= H_{k+1}, everywhere: freeing a layer replaces its w_t piece in the convex part (which grows with
// every maximum in it) by the best piece, and the concave part's linearisation stays. That the narrower space
// calls the layer's output affine, the pair (u, 0), and the wider one (u + e, e) makes no difference: with
// the w_t pattern e is affine in w, every rule of the decomposition carries a common shift e of c and d on as
// a common shift, and at the loss it is added to convex and concave part alike.
TEST(LayerProblem, WiderSearchSpacesNeverLowerTheSurrogateAndAllAreTightAtTheAnchor) {
  int strictly = 0;
  for_every_layer(2, [&](const Case& s, int open) {
    const NaiveSurrogate naive(s.graph, open, s.source, s.margins);
    const int all = free_layer_count(s.graph, open);
    for (LossSplit split : {LossSplit::tight, LossSplit::paper}) {
      std::vector<double> narrower;
      for (int free = 0; free <= all; ++free) {
        LayerProblem problem(s.graph, open, s.source, s.margins, options_for(free, split), Threads(2));
        Random random(3, 63);
        std::vector<double> found;
        for (double spread : {0.0, 0.05, 0.5, 2.0}) {
          const WeightVector w = moved(naive.anchor(), spread, random);
          found.push_back(problem.blocks().mean_loss(w.view()));
        }
        const double tolerance = 2e-5 * (1 + found.back());
        EXPECT_NEAR(found[0], naive.true_loss(naive.anchor()), tolerance);
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_GE(found[i], -tolerance);
          if (free > 0) {
            EXPECT_GE(found[i], narrower[i] - tolerance) << "free " << free;
          }
          if (free > 0) strictly += found[i] > narrower[i] + tolerance;
        }
        narrower = found;
      }
    }
  });
  EXPECT_GT(strictly, 20) << "the spaces do not differ: nothing was tested";
}

std::vector<std::int32_t> numbers(std::int64_t count) {
  std::vector<std::int32_t> all(at(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

double inner(std::span<const float> psi, std::span<const double> v) {
  double sum = 0;
  for (std::size_t i = 0; i < psi.size(); ++i) sum += static_cast<double>(psi[i]) * v[i];
  return sum;
}

// Fresh blocks are at the zero plane, so the directions are the planes themselves.
TEST(LayerProblem, PlanesReproduceTheSurrogateAndItsSlope) {
  for_every_layer(3, [](const Case& s, int open) {
    NaiveSurrogate naive(s.graph, open, s.source, s.margins);
    const int all = free_layer_count(s.graph, open);
    for (int free : all == 0 ? std::vector<int>{0} : std::vector<int>{0, all}) {
      SCOPED_TRACE("free " + std::to_string(free));
      LayerProblemOptions options = options_for(free);
      options.exact_svm_layer = false;
      LayerProblem problem(s.graph, open, s.source, s.margins, options, Threads(2));
      Oracle& oracle = *problem.oracle();
      Random random(4, 64);
      WeightVector w = moved(naive.anchor(), 0.2, random);
      for (int attempt = 0; attempt < 20 && naive.kink_at(w.view().exact) < clearance; ++attempt)
        w = moved(naive.anchor(), 0.2, random);
      const auto surrogate = [&](std::span<const double> there) {
        return free == 0 ? naive.labels_surrogate(there) : naive.full_surrogate(there, options.split);
      };
      std::vector<double> losses(at(samples)), gaps(at(samples));
      const Directions& planes = oracle.find_planes(numbers(samples), w.view(), losses, gaps);
      const double value = surrogate(w.view().exact),
                   tolerance = 5e-6 * (1 + value + (free ? naive.size() : 0));
      EXPECT_NEAR(std::accumulate(losses.begin(), losses.end(), 0.0) / samples, value, tolerance);
      for (std::size_t n = 0; n < at(samples); ++n) EXPECT_NEAR(losses[n], gaps[n], tolerance);
      std::vector<float> psi(at(oracle.dimension()));
      const std::vector<float> ones(at(planes.count()), 1.0f);
      planes.combine(ones, psi);
      for (int direction = 0; direction < repetitions(3, 1); ++direction) {
        std::vector<double> ahead(w.view().exact.begin(), w.view().exact.end()), behind = ahead,
                                                                                 v(ahead.size());
        constexpr double h = 1e-5;
        for (std::size_t i = 0; i < v.size(); ++i) {
          v[i] = random.uniform(-1, 1);
          ahead[i] += h * v[i];
          behind[i] -= h * v[i];
        }
        const double rise = surrogate(ahead) - value, fall = value - surrogate(behind);
        const double slope = inner(psi, v) / samples, slack = 2e-3 * (1 + std::abs(slope));
        // H is convex: between its one-sided slopes, which differ where a kink is near.
        EXPECT_LE(slope, rise / h + slack);
        EXPECT_GE(slope, fall / h - slack);
        EXPECT_LE(rise / h - fall / h, 0.1 * (1 + std::abs(slope))) << "too near a kink to tell";
      }
    }
  });
}

// d = J^T (e_{y*} - alpha), where blocks have moved away from the true label.
TEST(LayerProblem, LabelFormsDirectionsAreTheGradientOfTheFrozenScores) {
  for_every_layer(4, [](const Case& s, int open) {
    const NaiveSurrogate naive(s.graph, open, s.source, s.margins);
    LayerProblemOptions options = options_for(0);
    options.exact_svm_layer = false;
    LayerProblem problem(s.graph, open, s.source, s.margins, options, Threads(2));
    auto& oracle = dynamic_cast<LabelOracle&>(*problem.oracle());
    Random random(5, 65);
    std::vector<double> losses(at(samples)), gaps(at(samples));
    const std::vector<std::int32_t> everyone = numbers(samples);
    for (int round = 0; round < 2; ++round) {  // some weight on other labels
      oracle.find_planes(everyone, moved(naive.anchor(), 0.5, random).view(), losses, gaps);
      std::vector<float> steps(at(samples), 0.0f);
      for (std::size_t n = 0; n < steps.size(); ++n)
        if (gaps[n] > 0) steps[n] = static_cast<float>(random.uniform(0.1, 0.9));
      oracle.commit(steps);
    }
    const WeightVector w = moved(naive.anchor(), 0.5, random);
    const naive::Tensor scores = naive.frozen_scores(w.view().exact);
    std::vector<double> v(w.view().exact.size()), along = naive.anchor();
    for (std::size_t i = 0; i < v.size(); ++i) along[i] += v[i] = random.uniform(-1, 1);
    const naive::Tensor base = naive.frozen_scores(naive.anchor()),
                        there = naive.frozen_scores(along);  // J v
    const Directions& directions = oracle.find_planes(everyone, w.view(), losses, gaps);
    std::vector<float> psi(at(oracle.dimension())), one(at(directions.count()), 0.0f), alpha(at(classes));
    std::size_t moving = 0, mixed = 0;
    for (std::int32_t n = 0; n < samples; ++n) {
      if (gaps[at(n)] <= 0) continue;
      const int truth = s.source.label(n);
      int best = truth;
      for (int y = 0; y < classes; ++y)
        if (static_cast<double>(s.margins(y, truth)) + scores(n, y) >
            static_cast<double>(s.margins(best, truth)) + scores(n, best))
          best = y;
      oracle.points().read(n, alpha);
      mixed += alpha[at(truth)] < 1.0f;
      double expected = 0;
      for (int y = 0; y < classes; ++y)
        expected +=
            ((y == best ? 1.0 : 0.0) - static_cast<double>(alpha[at(y)])) * (there(n, y) - base(n, y));
      one[moving] = 1.0f;
      directions.combine(one, psi);
      one[moving++] = 0.0f;
      ASSERT_NEAR(inner(psi, v), expected, 2e-5 * (1 + std::abs(expected))) << "sample " << n;
    }
    EXPECT_GT(moving, 0u);
    EXPECT_GT(mixed, 0u);
  });
}

BcfwOptions solver_options() {
  BcfwOptions options;
  options.lambda = 0.01;
  options.mu = 0.02;
  options.schedule.batch_size = 20;
  options.seed = 3;
  return options;
}

StoppingOptions epochs(int count) {
  StoppingOptions stopping;
  stopping.gap_fraction = stopping.relative_gap = 0;
  stopping.max_epochs = count;
  return stopping;
}

TEST(LayerProblem, BlockGapsSumToPrimalMinusDualAndTheDualNeverDecreases) {
  for_every_layer(5, [](const Case& s, int open) {
    const int all = free_layer_count(s.graph, open);
    for (bool exact : {true, false})
      for (int free : all == 0 ? std::vector<int>{0} : std::vector<int>{0, all}) {
        SCOPED_TRACE("free " + std::to_string(free));
        LayerProblemOptions options = options_for(free);
        options.exact_svm_layer = exact;
        LayerProblem problem(s.graph, open, s.source, s.margins, options, Threads(2));
        BcfwSolver solver(problem.blocks(), problem.anchor(), solver_options(), Threads(2));
        const double begin = solver.state().dual();
        double last = begin;
        const Summary summary = solver.solve(epochs(4), [&](const SolveProgress& progress) {
          EXPECT_GE(progress.dual, last - 1e-6 * (1 + std::abs(last)));
          last = progress.dual;
          return true;
        });
        EXPECT_GT(summary.dual, begin);
        EXPECT_GE(summary.gap, -1e-6 * (1 + summary.primal));
        const double primal = solver.primal_at(solver.weights()), dual = solver.state().dual();
        std::vector<double> gaps(at(problem.blocks().blocks()));
        std::vector<float> change(at(problem.blocks().dimension()));
        problem.blocks().improve(numbers(problem.blocks().blocks()), solver.state(), change, gaps);
        const double mean_gap = std::accumulate(gaps.begin(), gaps.end(), 0.0) / samples;
        EXPECT_NEAR(mean_gap, primal - dual, 2e-5 * (1 + primal));
      }
  });
}

std::vector<float> solved(const Case& s, int open, const LayerProblemOptions& options, int threads) {
  LayerProblem problem(s.graph, open, s.source, s.margins, options, Threads(threads));
  BcfwSolver solver(problem.blocks(), problem.anchor(), solver_options(), Threads(threads));
  solver.solve(epochs(3));
  std::vector<float> w(solver.weights().rounded.begin(), solver.weights().rounded.end());
  for (double value : solver.average_weights()) w.push_back(static_cast<float>(value));
  return w;
}

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TEST(LayerProblem, BitsDoNotDependOnTheNumberOfThreads) {
  for_every_layer(6, [](const Case& s, int open) {
    const int all = free_layer_count(s.graph, open);
    for (int free : {0, all}) {
      const std::vector<float> one = solved(s, open, options_for(free), 1);
      expect_same_bits(one, solved(s, open, options_for(free), 2));
      expect_same_bits(one, solved(s, open, options_for(free), 5));
    }
  });
}

// Too little memory for the inputs: they are computed again for every chunk. Slopes and factored blocks still
// fit.
TEST(LayerProblem, IteratesDoNotDependOnWhetherInputsAreCached) {
  for_every_layer(7, [](const Case& s, int open) {
    const int all = free_layer_count(s.graph, open);
    for (int free : {0, all}) {
      LayerProblemOptions options = options_for(free);
      LayerProblem rich(s.graph, open, s.source, s.margins, options, Threads(2));
      const std::vector<float> expected = solved(s, open, options, 2);
      options.memory = free == 0 ? 0 : 2 * slope_bytes_for(samples, element_count(s.graph.node(open).shape));
      const std::string form = expected_form(s.graph, open, free);
      if (form == "explicit") continue;  // that little memory also groups its blocks
      LayerProblem poor(s.graph, open, s.source, s.margins, options, Threads(2));
      EXPECT_LT(poor.cache_bytes(), rich.cache_bytes());
      expect_same_bits(solved(s, open, options, 2), expected);
    }
  });
}

// Groups of samples are blocks of their own; the objective they solve is the same.
TEST(LayerProblem, GroupsHaveTheSameSurrogateAndCertificate) {
  const Case s = make_case(all_nets()[0], 8);
  const int open = *s.graph.find("conv2");
  const int all = free_layer_count(s.graph, open);
  LayerProblemOptions options = options_for(all);
  LayerProblem alone(s.graph, open, s.source, s.margins, options, Threads(2));
  const std::uint64_t wanted =
      static_cast<std::uint64_t>(samples * alone.blocks().dimension()) * sizeof(float);
  for (std::uint64_t groups : {std::uint64_t{2}, std::uint64_t{5}}) {
    options.memory = 2 * wanted / groups;
    LayerProblem grouped(s.graph, open, s.source, s.margins, options, Threads(2));
    EXPECT_LT(grouped.blocks().blocks(), samples);
    EXPECT_LE(grouped.blocks().block_bytes(), options.memory);
    EXPECT_EQ(grouped.blocks().samples(), samples);
    Random random(9, 66);
    const std::vector<float> anchor = alone.anchor();
    const WeightVector w = moved({anchor.begin(), anchor.end()}, 0.3, random);
    const double value = alone.blocks().mean_loss(w.view());
    EXPECT_NEAR(grouped.blocks().mean_loss(w.view()), value, 1e-5 * (1 + value));
    BcfwSolver solver(grouped.blocks(), anchor, solver_options(), Threads(2));
    const Summary summary = solver.solve(epochs(20));
    BcfwSolver finer(alone.blocks(), anchor, solver_options(), Threads(2));
    const Summary better = finer.solve(epochs(20));
    EXPECT_LE(summary.dual, better.primal * (1 + 1e-5)) << "no dual value lies above a primal one";
    EXPECT_LE(better.dual, summary.primal * (1 + 1e-5));
  }
}

// More workers than chunks, and fewer samples than a chunk: whatever lies after the samples must do no harm.
// With a global max-pool after the layer a stale pattern would be an index.
TEST(LayerProblem, ShortChunksAreHarmless) {
  const Graph graph = inception_net(9);
  const MarginMatrix margins(classes);
  for (int count : {1, 3, 26}) {
    const VectorSource source = clusters(count, 10);
    for (const char* name : {"stem", "two", "mix"}) {
      const int open = *graph.find(name);
      NaiveSurrogate naive(graph, open, source, margins);
      for (int free : {0, free_layer_count(graph, open)}) {
        LayerProblem problem(graph, open, source, margins, options_for(free), Threads(6));
        std::vector<double> losses(at(count)), gaps(at(count));
        Random random(11, 67);
        for (int round = 0; round < 20; ++round) {
          const WeightVector w = moved(naive.anchor(), 0.1, random);
          const auto one = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(count)));
          std::vector<float> psi(at(problem.oracle()->dimension()));
          const std::vector<std::int32_t> samples_asked =
              round % 2 ? numbers(count) : std::vector<std::int32_t>{one};
          const Directions& found = problem.oracle()->find_planes(samples_asked, w.view(), losses, gaps);
          found.combine(std::vector<float>(at(found.count()), 1.0f), psi);
          for (float value : psi) ASSERT_TRUE(std::isfinite(value));
        }
        EXPECT_NEAR(problem.blocks().mean_loss(WeightVector(naive.anchor()).view()),
                    naive.true_loss(naive.anchor()), 1e-4);
      }
    }
  }
}

TEST(LayerMemory, IsWhatTheProblemTakes) {
  for (const NamedNet& net : all_nets()) {
    const Case test = make_case(net, 5);
    for (int open : refinable_layers(test.graph))
      for (int level = 0; level <= free_layer_count(test.graph, open); ++level)
        for (std::uint64_t memory : {std::uint64_t{1} << 30, std::uint64_t{40} << 10}) {
          LayerProblemOptions options = options_for(level);
          options.memory = memory;
          const LayerMemory expected = memory_of(test.graph, open, samples, options);
          if (expected.slopes > memory) continue;
          LayerProblem problem(test.graph, open, test.source, test.margins, options, Threads(1));
          SCOPED_TRACE(net.name + std::string(" ") + test.graph.node(open).name);
          EXPECT_EQ(problem.form(), expected.form);
          EXPECT_EQ(problem.cache_bytes(), expected.total() - expected.blocks - expected.weights);
          if (expected.form == "factored")
            EXPECT_EQ(problem.blocks().block_bytes(), expected.blocks);
          else
            EXPECT_LE(problem.blocks().block_bytes(), expected.blocks);
        }
  }
}

}  // namespace
}  // namespace lwsvm
