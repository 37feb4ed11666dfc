#include "model/normalization_search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/adapt_input.h"
#include "net/evaluator.h"

namespace lwsvm {
namespace {

using Verdict = NormalizationFindings::Verdict;

constexpr double kSure = 3;           // deviations: chance does that once in 700 times
constexpr double kNegligible = 0.02;  // of accuracy
constexpr std::int64_t kFew = 500, kMany = 4000, kMin = 100;
constexpr double kWork = 4e10;  // floating point operations of one round, about a second

class FirstSamples final : public SampleSource {
 public:
  FirstSamples(const SampleSource& all, std::int64_t count) : all_(all), count_(count) {}
  std::int64_t size() const override { return count_; }
  std::int32_t label(std::int64_t index) const override { return all_.label(index); }
  void read(std::int64_t index, float* target) const override { all_.read(index, target); }

 private:
  const SampleSource& all_;
  std::int64_t count_;
};

// What became of each sample.
struct Answers {
  std::vector<std::int32_t> predicted;  // -1: the scores were no numbers
  std::vector<double> losses;
  std::vector<std::uint8_t> right;

  std::int64_t count_right() const { return std::count(right.begin(), right.end(), 1); }
  double mean_loss() const {
    double sum = 0;
    for (const double loss : losses) sum += loss;
    return sum / static_cast<double>(losses.size());
  }
};

double hinge(const float* scores, int classes, int truth) {
  float worst = scores[truth];
  for (int y = 0; y < classes; ++y)
    if (y != truth) worst = std::max(worst, scores[y] + 1.0f);
  return static_cast<double>(worst - scores[truth]);
}

Answers answers(const Model& model, const Shape& sample, const NormalizationCandidate& candidate,
                const SampleSource& samples, const Threads& threads) {
  Model adapted = model;
  adapt_input(adapted, sample, candidate.mean, candidate.deviation, candidate.reversed);
  const auto classes = static_cast<int>(element_count(adapted.graph.node(adapted.graph.scores()).shape));
  const auto count = static_cast<std::size_t>(samples.size());
  Answers found{std::vector<std::int32_t>(count), std::vector<double>(count),
                std::vector<std::uint8_t>(count)};
  Evaluator(adapted.graph, threads)
      .for_scores(samples, [&](std::int64_t first, std::int64_t part, const float* scores) {
        for (std::int64_t i = 0; i < part; ++i) {
          const auto at = static_cast<std::size_t>(first + i);
          const float* row = scores + i * classes;
          const std::int32_t truth = samples.label(first + i);
          const bool numbers = std::all_of(row, row + classes, [](float s) { return std::isfinite(s); });
          found.predicted[at] = numbers ? predicted_class(row, classes) : -1;
          found.losses[at] = numbers ? hinge(row, classes, truth) : HUGE_VAL;
          found.right[at] = found.predicted[at] == truth;
        }
      });
  return found;
}

// Samples that only one of the two gets right.
struct Contest {
  double first = 0, second = 0;

  Contest(const Answers& a, const Answers& b) {
    const std::size_t common = std::min(a.right.size(), b.right.size());
    for (std::size_t i = 0; i < common; ++i) {
      first += a.right[i] && !b.right[i];
      second += b.right[i] && !a.right[i];
    }
  }
  bool first_wins() const { return first - second > kSure * std::sqrt(first + second); }
  // How much more accurate the second may be, two deviations granted.
  double max_accuracy_lost(std::size_t samples) const {
    return (second - first + 2 * std::sqrt(first + second)) / static_cast<double>(samples);
  }
};

// As many as labels drawn in the frequencies of the predictions would hit, three deviations granted. Whoever
// always says the same class only guesses, however frequent that class is.
bool only_guesses(const Answers& a, const SampleSource& samples, int classes) {
  const auto count = static_cast<double>(a.right.size());
  std::vector<double> said(static_cast<std::size_t>(classes)), true_of(said.size());
  for (std::size_t i = 0; i < a.right.size(); ++i) {
    ++true_of[static_cast<std::size_t>(samples.label(static_cast<std::int64_t>(i)))];
    if (a.predicted[i] >= 0) ++said[static_cast<std::size_t>(a.predicted[i])];
  }
  double chance = 0;
  for (std::size_t y = 0; y < said.size(); ++y) chance += said[y] / count * (true_of[y] / count);
  const double spread = std::sqrt(count * chance * std::max(0.0, 1 - chance));
  return static_cast<double>(a.count_right()) <= count * chance + kSure * spread;
}

class Search {
 public:
  Search(const Model& model, const Shape& sample, std::span<const NormalizationCandidate> candidates,
         const SampleSource& samples, const Threads& threads)
      : model_(model),
        sample_(sample),
        candidates_(candidates),
        samples_(samples),
        threads_(threads),
        answers_(candidates.size()),
        contends_(candidates.size(), true) {}

  NormalizationFindings run() {
    const auto classes = static_cast<int>(element_count(model_.graph.node(model_.graph.scores()).shape));
    try_contenders(std::max(kMin, affordable(kFew)));
    if (only_guesses(answers_[most_accurate()], samples_, classes))
      return findings(most_accurate(), Verdict::guessing);
    drop_the_clearly_worse();
    if (contenders() > 1) {
      try_contenders(affordable(kMany));
      drop_the_clearly_worse();
    }
    const std::size_t taken = lowest_loss();
    return findings(taken, contenders() == 1 ? Verdict::best
                           : is_safe(taken)  ? Verdict::alike
                                             : Verdict::unclear);
  }

 private:
  std::int64_t contenders() const { return std::count(contends_.begin(), contends_.end(), true); }

  std::int64_t affordable(std::int64_t wanted) const {
    const double flops = static_cast<double>(std::max<std::int64_t>(model_.graph.flops(), 1));
    return std::min(wanted, static_cast<std::int64_t>(kWork / flops) / contenders());
  }

  void try_contenders(std::int64_t count) {
    const FirstSamples first(samples_, std::min(count, samples_.size()));
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (contends_[c] && first.size() > std::ssize(answers_[c].right))
        answers_[c] = answers(model_, sample_, candidates_[c], first, threads_);
  }

  // Ties to the first, here and below.
  std::size_t most_accurate() const {
    std::size_t best = candidates_.size();
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (contends_[c] &&
          (best == candidates_.size() || answers_[c].count_right() > answers_[best].count_right()))
        best = c;
    return best;
  }

  std::size_t lowest_loss() const {
    std::size_t best = candidates_.size();
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (contends_[c] &&
          (best == candidates_.size() || answers_[c].mean_loss() < answers_[best].mean_loss()))
        best = c;
    return best;
  }

  void drop_the_clearly_worse() {
    const std::size_t best = most_accurate();
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (Contest(answers_[best], answers_[c]).first_wins()) contends_[c] = false;
  }

  bool is_safe(std::size_t taken) const {
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (contends_[c] &&
          Contest(answers_[taken], answers_[c]).max_accuracy_lost(answers_[taken].right.size()) > kNegligible)
        return false;
    return true;
  }

  NormalizationFindings findings(std::size_t taken, Verdict verdict) const {
    NormalizationFindings found{verdict, taken, {}};
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      const Answers& a = answers_[c];
      found.trials.push_back({candidates_[c].name, std::ssize(a.right),
                              static_cast<double>(a.count_right()) / static_cast<double>(a.right.size()),
                              a.mean_loss(), contends_[c]});
    }
    return found;
  }

  const Model& model_;
  const Shape& sample_;
  std::span<const NormalizationCandidate> candidates_;
  const SampleSource& samples_;
  const Threads& threads_;
  std::vector<Answers> answers_;
  std::vector<bool> contends_;
};

}  // namespace

NormalizationFindings search_normalization(const Model& model, const Shape& sample,
                                           std::span<const NormalizationCandidate> candidates,
                                           const SampleSource& samples, const Threads& threads) {
  LWSVM_CHECK(!candidates.empty() && samples.size() > 0);
  return Search(model, sample, candidates, samples, threads).run();
}

}  // namespace lwsvm
