#include "run/adapt_head.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "net/evaluator.h"
#include "ssvm/svm_path.h"

namespace lwsvm::run {
namespace {

constexpr int kFolds = 5;
constexpr int kRounds = 2;                 // of folds
constexpr std::int64_t kSearchCopies = 2;  // of an image, itself counted: more hardly move lambda
constexpr double kSearchGap = 0.02, kFinalGap = 1e-3;
constexpr int kSearchEpochs = 60, kFinalEpochs = 1000;

// Relative to the mean square of the features: one at which most weights are near zero, down to one at which
// the margins are hard.
std::vector<double> lambda_grid(const HeadRows& rows) {
  double square = 0;
  for (const float value : rows.values) square += static_cast<double>(value) * value;
  const double mean = std::max(square / static_cast<double>(rows.rows()), 1e-30);
  std::vector<double> grid;
  for (double exponent = -0.5; exponent > -4.6; exponent -= 0.5)
    grid.push_back(mean * std::pow(10.0, exponent));
  return grid;
}

// Which fold each image is in: as evenly as can be within every class.
std::vector<int> folds_of(const HeadRows& rows, int classes, std::uint64_t seed, int round) {
  Random random(seed, 4711 + static_cast<std::uint64_t>(round));
  const std::vector<std::int32_t> order = random_permutation(static_cast<std::size_t>(rows.images), random);
  std::vector<int> next(static_cast<std::size_t>(classes)), fold(static_cast<std::size_t>(rows.images));
  int turn = 0;
  for (int& first : next) first = turn++ % kFolds;  // so that small classes do not all lack the same fold
  for (const std::int32_t image : order) {
    int& at = next[static_cast<std::size_t>(rows.labels[static_cast<std::size_t>(image)])];
    fold[static_cast<std::size_t>(image)] = at;
    at = (at + 1) % kFolds;
  }
  return fold;
}

HeadRows some_images(const HeadRows& rows, const std::function<bool(std::int64_t)>& wanted,
                     std::int64_t copies) {
  HeadRows part;
  part.width = rows.width;
  const std::int64_t count = std::min(copies * rows.images, rows.rows());
  for (std::int64_t i = 0; i < count; ++i) {
    if (!wanted(i % rows.images)) continue;
    part.labels.push_back(rows.labels[static_cast<std::size_t>(i)]);
    part.values.insert(part.values.end(), rows.row(i), rows.row(i) + rows.width);
    if (i < rows.images) ++part.images;
  }
  return part;
}

// Right answers and samples of each class.
struct Counts {
  std::vector<double> right, all;

  explicit Counts(int classes)
      : right(static_cast<std::size_t>(classes)), all(static_cast<std::size_t>(classes)) {}

  double accuracy(bool balance) const {
    double sum = 0, seen = 0;
    for (std::size_t c = 0; c < all.size(); ++c) {
      if (all[c] == 0) continue;
      sum += balance ? right[c] / all[c] : right[c];
      seen += balance ? 1 : all[c];
    }
    return seen > 0 ? sum / seen : 0;
  }
};

void judge(const LinearModel& model, const HeadRows& rows, Counts& counts) {
  for (std::int64_t i = 0; i < rows.images; ++i) {
    const auto label = static_cast<std::size_t>(rows.labels[static_cast<std::size_t>(i)]);
    counts.right[label] += model.predict(rows.row(i)) == static_cast<int>(label);
    ++counts.all[label];
  }
}

// Of the lambdas whose accuracy is within a standard error of the best, the middle: chance makes the best of
// them, and either end is near where it falls off.
double middle_of_plateau(const HeadChoice& choice, std::int64_t judged) {
  const double error = std::sqrt(choice.accuracy * (1 - choice.accuracy) / static_cast<double>(judged));
  double largest = 0, smallest = 0;
  for (const HeadTrial& trial : choice.trials) {
    if (trial.accuracy < choice.accuracy - error) continue;
    if (largest == 0) largest = trial.lambda;
    smallest = trial.lambda;
  }
  return std::sqrt(largest * smallest);
}

}  // namespace

HeadRows head_rows(const Graph& graph, int node, const SampleSource& source, const Threads& threads) {
  HeadRows rows;
  rows.width = element_count(graph.node(node).shape);
  rows.images = source.size() / std::max<std::int64_t>(source.copies(), 1);
  rows.values.resize(static_cast<std::size_t>(source.size() * rows.width));
  for (std::int64_t i = 0; i < source.size(); ++i) rows.labels.push_back(source.label(i));
  if (graph.node(node).is_input())
    threads.for_ranges(source.size(), 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) source.read(i, rows.values.data() + i * rows.width);
    });
  else
    Evaluator(graph, threads, -1, node)
        .for_scores(source, [&](std::int64_t first, std::int64_t samples, const float* values) {
          std::copy_n(values, samples * rows.width, rows.values.data() + first * rows.width);
        });
  if (!std::ranges::all_of(rows.values, [](float x) { return std::isfinite(x); }))
    fail("adapt",
         "the network's features are not finite numbers; check how the pixels are normalised (--normalize)");
  return rows;
}

HeadRows joined(const HeadRows& a, const HeadRows& b) {
  LWSVM_CHECK(a.width == b.width && a.rows() * b.images == b.rows() * a.images);
  HeadRows both;
  both.width = a.width;
  both.images = a.images + b.images;
  const auto add = [&](const HeadRows& rows, std::int64_t begin) {
    both.labels.insert(both.labels.end(), rows.labels.begin() + begin,
                       rows.labels.begin() + begin + rows.images);
    both.values.insert(both.values.end(), rows.row(begin), rows.row(begin) + rows.images * rows.width);
  };
  for (std::int64_t copy = 0; copy * a.images < a.rows(); ++copy) {
    add(a, copy * a.images);
    add(b, copy * b.images);
  }
  return both;
}

HeadChoice choose_head_lambda(const HeadRows& training, const HeadRows* validation,
                              const MarginMatrix& margins, const HeadOptions& options,
                              const Threads& threads) {
  const int classes = margins.classes();
  const std::vector<double> grid = lambda_grid(training);
  std::vector<Counts> counts(grid.size(), Counts(classes));
  const auto stopped = [&](const SolveProgress&) {
    return !options.stop_requested || !options.stop_requested();
  };
  const auto follow = [&](const HeadRows& seen, const HeadRows& unseen) {
    SvmPath path(seen.values, seen.width, seen.labels, margins, options.batch, options.seed, threads);
    for (std::size_t k = 0; k < grid.size(); ++k) {
      path.solve(grid[k], kSearchGap, kSearchEpochs, stopped);
      judge(path.model(), unseen, counts[k]);
    }
  };
  HeadChoice choice;
  if (validation) {
    const auto all = [](std::int64_t) { return true; };
    follow(some_images(training, all, kSearchCopies), *validation);
  } else {
    choice.folds = kFolds;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<int> fold = folds_of(training, classes, options.seed, round);
      for (int f = 0; f < kFolds; ++f) {
        const auto in_fold = [&](std::int64_t i) { return fold[static_cast<std::size_t>(i)] == f; };
        const HeadRows unseen = some_images(training, in_fold, 1);
        const HeadRows seen = some_images(
            training, [&](std::int64_t i) { return !in_fold(i); }, kSearchCopies);
        if (unseen.images > 0 && seen.images > 0) follow(seen, unseen);
      }
    }
  }
  for (std::size_t k = 0; k < grid.size(); ++k) {
    const double accuracy = counts[k].accuracy(options.balance);
    choice.trials.push_back({grid[k], accuracy});
    choice.accuracy = std::max(choice.accuracy, accuracy);
  }
  const std::int64_t judged = validation ? validation->images : training.images;
  choice.lambda = middle_of_plateau(choice, judged);
  return choice;
}

SolvedHead solve_head(const HeadRows& training, double lambda, const MarginMatrix& margins,
                      const HeadOptions& options, const Threads& threads) {
  SvmPath path(training.values, training.width, training.labels, margins, options.batch, options.seed,
               threads);
  const auto go_on = [&](const SolveProgress&) {
    return !options.stop_requested || !options.stop_requested();
  };
  // Down to a small lambda by way of larger ones: fewer epochs in all.
  const double from = lambda_grid(training).front();
  for (double step = from; step > 3 * lambda; step /= 10) path.solve(step, kSearchGap, kSearchEpochs, go_on);
  const Summary summary = path.solve(lambda, kFinalGap, kFinalEpochs, go_on);
  return {path.model(), summary.primal > 0 ? summary.gap / summary.primal : 0, summary.epochs};
}

MarginMatrix balanced_margins(const MarginMatrix& margins, const std::vector<std::int32_t>& labels) {
  const int classes = margins.classes();
  std::vector<double> count(static_cast<std::size_t>(classes));
  for (const std::int32_t label : labels) ++count[static_cast<std::size_t>(label)];
  const double mean = static_cast<double>(labels.size()) / classes;
  std::vector<double> factor(count.size(), 1.0);
  double total = 0;
  for (std::size_t c = 0; c < count.size(); ++c) {
    if (count[c] > 0) factor[c] = std::sqrt(mean / count[c]);
    total += factor[c] * count[c];
  }
  std::vector<float> values(static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes));
  auto value = values.begin();
  for (int predicted = 0; predicted < classes; ++predicted)
    for (int truth = 0; truth < classes; ++truth)
      *value++ = static_cast<float>(margins(predicted, truth) * factor[static_cast<std::size_t>(truth)] *
                                    static_cast<double>(labels.size()) / total);
  return MarginMatrix(classes, values);
}

}  // namespace lwsvm::run
