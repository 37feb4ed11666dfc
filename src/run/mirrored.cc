#include "run/mirrored.h"

#include <algorithm>
#include <cmath>

#include "base/interruptible_source.h"
#include "base/sample_subset.h"
#include "net/evaluator.h"

namespace lwsvm::run {
namespace {

constexpr std::int64_t kMinValidation = 500;
constexpr int kMinSide = 8;            // of an image, in pixels
constexpr double kMaxRatio = 1.25;     // of wrong answers, mirrored to new
constexpr double kStandardErrors = 2;  // that chance is granted on top
constexpr std::uint64_t kSampleStream = 301;

}  // namespace

AugmentedSource with_mirrored(const Task& task) {
  return {task.train, task.data.shape, parse_augmentation("flip", task.data.shape)};
}

bool mirrored_are_like_new(const Model& model, const Task& task, const NetworkQuality& start,
                           std::int64_t samples, const Threads& threads, Messages& messages) {
  const ImageShape& shape = task.data.shape;
  if (task.validation.size() < kMinValidation || std::min(shape.height, shape.width) < kMinSide) return false;
  const AugmentedSource both = with_mirrored(task);
  std::vector<std::int32_t> mirrored = random_samples(task.train.size(), samples, 0, kSampleStream);
  for (std::int32_t& sample : mirrored) sample += static_cast<std::int32_t>(task.train.size());
  const SampleSubset probe(both, std::move(mirrored));
  const InterruptibleSource source(probe, "looking at mirrored images");
  const double wrong = 1 - Evaluator(model.graph, threads).evaluate(source, task.loss).accuracy();
  const double wrong_on_new = 1 - start.val_accuracy;
  const double chance = std::sqrt(wrong * (1 - wrong) / static_cast<double>(probe.size()));
  if (wrong > kMaxRatio * wrong_on_new + kStandardErrors * chance) return false;
  messages.line(
      "mirrored training images are as good as new ones ({:.2f}% right, {:.2f}% of the validation images): "
      "sweeps draw them, too; --augment none: they do not",
      100 * (1 - wrong), 100 * start.val_accuracy);
  return true;
}

}  // namespace lwsvm::run
