#include "run/judged_part.h"

#include <algorithm>
#include <numeric>

#include "base/interruptible_source.h"
#include "base/sample_subset.h"
#include "base/stopwatch.h"
#include "net/evaluator.h"

namespace lwsvm::run {
namespace {

constexpr std::int64_t kTimedSamples = 256, kTimedFirst = 16, kMinJudged = 1000, kMinJudgedSlowly = 200;
// Of the time limit, that may be spent on seeing how fast a network is.
constexpr double kTimingShare = 0.005;
constexpr double kSlow = 1;  // seconds for kMinJudged samples: more than that, and fewer will do
// Of the time limit: one look at the training and validation part may take so much, else it gets so much.
constexpr double kTolerableShare = 0.06, kShare = 0.04;

double seconds_per_sample(const Model& model, const Task& task, double time_limit, const Threads& threads) {
  Evaluator evaluator(model.graph, threads);
  const auto timed = [&](std::int64_t count) {
    std::vector<std::int32_t> first(static_cast<std::size_t>(std::min(count, task.training.size())));
    std::iota(first.begin(), first.end(), 0);
    const SampleSubset some(task.training, first);
    const InterruptibleSource samples(some, "looking at the network as it is");
    const Stopwatch watch;
    evaluator.evaluate(samples, task.loss);
    return watch.seconds() / static_cast<double>(samples.size());
  };
  timed(1);  // also prepares what is not counted
  const double roughly = timed(kTimedFirst);
  if (roughly * static_cast<double>(kTimedSamples) > kTimingShare * time_limit) return roughly;
  return timed(kTimedSamples);
}

}  // namespace

JudgedPart choose_judged_part(const Model& model, const Task& task, double time_limit,
                              const Threads& threads) {
  JudgedPart part;
  const double seconds = std::max(seconds_per_sample(model, task, time_limit, threads), 1e-9);
  const auto samples = static_cast<double>(task.training.size() + task.validation.size());
  part.test = seconds * static_cast<double>(task.test.size()) <= kTolerableShare / 2 * time_limit;
  if (seconds * samples <= kTolerableShare * time_limit) return part;
  const double affordable = kShare * time_limit / seconds;
  const double for_the_least = seconds * static_cast<double>(kMinJudged);
  const std::int64_t least =
      for_the_least > std::max(kSlow, 2 * kTolerableShare * time_limit) ? kMinJudgedSlowly : kMinJudged;
  const auto share_of = [&](std::int64_t size) {
    const auto wanted = static_cast<std::int64_t>(affordable * static_cast<double>(size) / samples);
    return std::max(least, wanted) < size ? std::max(least, wanted) : 0;
  };
  part.training = share_of(task.training.size());
  part.validation = share_of(task.validation.size());
  return part;
}

}  // namespace lwsvm::run
