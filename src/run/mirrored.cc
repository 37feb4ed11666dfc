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

MirroredSamples::MirroredSamples(const Task& task, const Team& team)
    : all(task.train, task.data.shape, parse_augmentation("flip", task.data.shape)), own(all, team) {}

bool mirrored_are_like_new(const Model& model, const Task& task, const NetworkQuality& start,
                           std::int64_t samples, const Threads& threads, Messages& messages, Team& team) {
  const ImageShape& shape = task.data.shape;
  if (task.validation.size() < kMinValidation || std::min(shape.height, shape.width) < kMinSide) return false;
  const MirroredSamples both(task, team);
  const std::int64_t images = both.own.size() / both.own.copies();
  std::vector<std::int32_t> mirrored = random_samples(images, part_size(samples, team.rank(), team.size()),
                                                      static_cast<std::uint64_t>(team.rank()), kSampleStream);
  for (std::int32_t& sample : mirrored) sample += static_cast<std::int32_t>(images);
  const SampleSubset probe(both.own, std::move(mirrored));
  const InterruptibleSource source(probe, "looking at mirrored images");
  const LossSums sums = Evaluator(model.graph, threads, -1, -1, team).evaluate(source, task.loss);
  const double wrong = 1 - sums.accuracy();
  const double wrong_on_new = 1 - start.val_accuracy;
  const double chance = std::sqrt(wrong * (1 - wrong) / static_cast<double>(sums.samples));
  if (wrong > kMaxRatio * wrong_on_new + kStandardErrors * chance) return false;
  messages.line(
      "mirrored training images are as good as new ones ({:.2f}% right, {:.2f}% of the validation images): "
      "sweeps draw them, too; --augment none: they do not",
      100 * (1 - wrong), 100 * start.val_accuracy);
  return true;
}

}  // namespace lwsvm::run
