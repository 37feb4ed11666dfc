#include "run/adapt_pixels.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/interruptible_source.h"
#include "base/sample_subset.h"
#include "base/units.h"
#include "lwsvm/network_tail.h"
#include "model/adapt_input.h"
#include "net/evaluator.h"
#include "run/adapt_head.h"
#include "run/model_input.h"
#include "ssvm/svm_path.h"

namespace lwsvm::run {
namespace {

constexpr std::int64_t kMaxSamples = 240, kMinSamples = 60;
constexpr double kWorkOfTrying = 4e11;  // floating-point operations, some ten seconds
constexpr double kSureOfPixels = 3;     // deviations

// What came of one candidate: which samples the SVM got right, and how sure the old layer was.
struct Trial {
  std::vector<bool> right;
  double confidence = 0;
};

// Five folds, one lambda of middle strength.
std::vector<bool> judged_by_folds(const HeadRows& rows, int classes, std::uint64_t seed,
                                  const Threads& threads) {
  constexpr int folds = 5;
  constexpr double strength = 1e-2;
  double square = 0;
  for (const float value : rows.values) square += static_cast<double>(value) * value;
  const double lambda = std::max(strength * square / static_cast<double>(rows.rows()), 1e-30);
  const MarginMatrix margins(classes);
  std::vector<bool> right(static_cast<std::size_t>(rows.rows()));
  for (int f = 0; f < folds; ++f) {
    HeadRows seen;
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      if (i % folds == f) continue;
      seen.labels.push_back(rows.labels[static_cast<std::size_t>(i)]);
      seen.values.insert(seen.values.end(), rows.row(i), rows.row(i) + rows.width);
    }
    SvmPath path(seen.values, rows.width, seen.labels, margins, 200, seed, threads);
    path.solve(lambda, 0.05, 50);
    const LinearModel model = path.model();
    for (std::int64_t i = f; i < rows.rows(); i += folds)
      right[static_cast<std::size_t>(i)] =
          model.predict(rows.row(i)) == rows.labels[static_cast<std::size_t>(i)];
  }
  return right;
}

double mean_confidence(const Graph& old_end, const HeadRows& rows, const Threads& threads) {
  class RowSource final : public SampleSource {
   public:
    explicit RowSource(const HeadRows& all) : rows_(all) {}
    std::int64_t size() const override { return rows_.rows(); }
    std::int32_t label(std::int64_t) const override { return 0; }
    void read(std::int64_t i, float* target) const override {
      std::copy_n(rows_.row(i), rows_.width, target);
    }

   private:
    const HeadRows& rows_;
  };
  const auto classes = element_count(old_end.node(old_end.scores()).shape);
  std::vector<double> sure(static_cast<std::size_t>(rows.rows()));
  Evaluator(old_end, threads)
      .for_scores(RowSource(rows), [&](std::int64_t first, std::int64_t count, const float* scores) {
        for (std::int64_t i = 0; i < count; ++i) {
          const float* row = scores + i * classes;
          const double top = *std::max_element(row, row + classes);
          double sum = 0;
          for (std::int64_t y = 0; y < classes; ++y) sum += std::exp(row[y] - top);
          sure[static_cast<std::size_t>(first + i)] = -std::log(sum);
        }
      });
  double total = 0;
  for (const double value : sure) total += value;
  return total / static_cast<double>(rows.rows());
}

// The first that only one of the two gets right, minus the others, in deviations.
bool clearly_better(const std::vector<bool>& a, const std::vector<bool>& b) {
  double first = 0, second = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    first += a[i] && !b[i];
    second += b[i] && !a[i];
  }
  return first - second > kSureOfPixels * std::sqrt(first + second);
}

double share_right(const std::vector<bool>& right) {
  return static_cast<double>(std::count(right.begin(), right.end(), true)) /
         static_cast<double>(right.size());
}

std::string numbers_of(const NormalizationOptions& options) {
  std::string text = fmt::format("scale {}", options.scale.value_or(1));
  if (!options.mean.empty()) text += fmt::format(", mean {}", fmt::join(options.mean, ","));
  if (!options.std.empty()) text += fmt::format(", std {}", fmt::join(options.std, ","));
  return text + (options.reversed ? ", BGR" : "");
}

std::string table_of(const PixelFindings& found) {
  std::vector<PixelTrial> trials = found.trials;
  std::stable_sort(trials.begin(), trials.end(),
                   [](const auto& a, const auto& b) { return a.accuracy > b.accuracy; });
  std::string text;
  for (const PixelTrial& trial : trials)
    text += fmt::format("{}{:.0f}% {:.2f} {}", text.empty() ? "" : ", ", 100 * trial.accuracy,
                        trial.confidence, trial.name);
  return text;
}

}  // namespace

PixelFindings try_normalizations(const Model& original, const Model& adapted,
                                 const std::vector<KnownNormalization>& candidates, const DataSet& data,
                                 std::uint64_t seed, const Threads& threads) {
  const Shape sample{data.shape.channels, data.shape.height, data.shape.width};
  const double work = static_cast<double>(adapted.graph.flops()) * static_cast<double>(candidates.size());
  const auto affordable =
      std::clamp(static_cast<std::int64_t>(kWorkOfTrying / work), kMinSamples, kMaxSamples);
  const SampleView all(data.train);
  const SampleSubset some(all, random_samples(all.size(), affordable, seed, 271));
  const InterruptibleSource samples(some, "trying normalisations");
  const double white = white_of(data).value_or(255);

  // What the old last layer reads, in both networks.
  const int head = new_head(adapted.graph);
  const auto in_original = [&]() -> std::optional<NetworkTail> {
    int node = adapted.graph.node(head).inputs[0];
    while (adapted.graph.node(node).name.starts_with("lwsvm.")) node = adapted.graph.node(node).inputs[0];
    const auto found = original.graph.find(adapted.graph.node(node).name);
    const std::vector<int> known = waists(original.graph);
    if (!found || std::ranges::find(known, *found) == known.end()) return std::nullopt;
    return make_tail(original.graph, *found);
  }();

  std::vector<Trial> trials;
  PixelFindings found;
  found.samples = some.size();
  for (const KnownNormalization& candidate : candidates) {
    const Normalization constants = make_normalization(data, {}, candidate.options(white));
    Model fed = adapted;
    adapt_input(fed, sample, constants.mean, constants.std, constants.reversed);
    const int new_layer = new_head(fed.graph);
    int features = fed.graph.node(new_layer).inputs[0];
    while (in_original && fed.graph.node(features).name.starts_with("lwsvm."))
      features = fed.graph.node(features).inputs[0];
    // All that the old layer reads, and of it what the new one does.
    HeadRows wide;
    Trial trial;
    try {
      wide = head_rows(fed.graph, features, samples, threads);
      HeadRows narrow = wide;
      if (features != fed.graph.node(new_layer).inputs[0]) {
        const std::int64_t channels =
            element_count(fed.graph.node(fed.graph.node(new_layer).inputs[0]).shape);
        const std::int64_t positions = wide.width / channels;
        narrow.width = channels;
        narrow.values.assign(static_cast<std::size_t>(wide.rows() * channels), 0.0f);
        for (std::int64_t i = 0; i < wide.rows() * channels; ++i) {
          double sum = 0;
          for (std::int64_t p = 0; p < positions; ++p)
            sum += wide.values[static_cast<std::size_t>(i * positions + p)];
          narrow.values[static_cast<std::size_t>(i)] =
              static_cast<float>(sum / static_cast<double>(positions));
        }
      }
      trial.right = judged_by_folds(narrow, data.classes, seed, threads);
      if (in_original) trial.confidence = mean_confidence(in_original->graph, wide, threads);
      if (!std::isfinite(trial.confidence)) trial.confidence = -HUGE_VAL;
    } catch (const Error&) {  // features that are no numbers: these pixels it cannot have had
      trial.right.assign(static_cast<std::size_t>(some.size()), false);
      trial.confidence = -HUGE_VAL;
    }
    found.trials.push_back({candidate.name, share_right(trial.right), trial.confidence, true});
    trials.push_back(std::move(trial));
  }
  std::size_t best = 0;
  for (std::size_t c = 1; c < trials.size(); ++c)
    if (found.trials[c].accuracy > found.trials[best].accuracy) best = c;
  found.taken = best;
  for (std::size_t c = 0; c < trials.size(); ++c) {
    found.trials[c].contends = !clearly_better(trials[best].right, trials[c].right);
    if (found.trials[c].contends && found.trials[c].confidence > found.trials[found.taken].confidence)
      found.taken = c;
  }
  found.clear = std::ranges::count_if(found.trials, [](const auto& t) { return t.contends; }) == 1;
  return found;
}

PixelChoice choose_pixels(const Model& original, const Model& adapted, const PixelSettings& pixels,
                          const DataSet& data, std::uint64_t seed, const Threads& threads,
                          Messages& messages) {
  NormalizationOptions given = normalization_options(pixels, data);
  if (!is_foreign(original.info)) {
    if (given.given())
      fail("adapt",
           "the network carries its own normalisation; leave out --normalize, --scale, --mean, --std");
    return {"its own", {}};
  }
  if (given.per_pixel)
    fail("adapt", "--per-pixel is for new networks; this one expects the pixels that it was trained on");
  if (given.given()) return {pixels.name.empty() ? numbers_of(given) : pixels.name, given};
  if (const NormalizationOptions stored = stored_normalization(original.info); stored.given())
    return {
        stored.scale == 1.0 && stored.mean.empty() && stored.std.empty() ? "in the file" : numbers_of(stored),
        stored};
  const std::vector<KnownNormalization> candidates = fitting_normalizations(data);
  const double white = white_of(data).value_or(255);
  if (candidates.size() == 1) return {candidates[0].name, candidates[0].options(white)};
  const PixelFindings found = try_normalizations(original, adapted, candidates, data, seed, threads);
  const KnownNormalization& taken = candidates[found.taken];
  messages.line(
      "the file does not say how its pixels are normalised; taken: {}{} (accuracy of a linear classifier on "
      "{} "
      "training samples, and how sure the old last layer is: {}); another: --normalize",
      taken.name,
      found.clear ? ""
                  : ", of those that tell the classes apart as well as any the one that the old last layer "
                    "is surest with",
      format_count(found.samples), table_of(found));
  return {taken.name, taken.options(white)};
}

}  // namespace lwsvm::run
