#include "lwsvm/best_network.h"

#include <algorithm>
#include <cmath>

namespace lwsvm {
namespace {

// Below so many validation samples, accuracy is too coarse to tell networks apart: the loss does.
constexpr std::int64_t kFewSamples = 1000;
// So many standard errors below the highest validation accuracy a network counts as no worse.
constexpr double kChance = 0.5;
// With few samples a loss is clearly lower at this share of the other.
constexpr double kClearlyLower = 0.9;

double standard_error(double accuracy, std::int64_t samples) {
  return std::sqrt(accuracy * (1 - accuracy) / static_cast<double>(samples));
}

}  // namespace

std::vector<double> flat(const NetworkQuality& q) {
  return {q.objective, q.train_loss, q.train_accuracy, q.val_accuracy, q.val_loss};
}

NetworkQuality quality_of(std::span<const double> values) {
  return {values[0], values[1], values[2], values[3], values[4]};
}

void BestNetwork::begin(const NetworkQuality& start, std::span<const float> parameters) {
  start_ = quality_ = most_accurate_ = start;
  start_parameters_.assign(parameters.begin(), parameters.end());
  parameters_ = start_parameters_;
  move_ = 0;
}

bool BestNetwork::consider(const NetworkQuality& network, std::span<const float> parameters, int move) {
  const bool most_accurate = is_better(network, most_accurate_);
  if (most_accurate) most_accurate_ = network;
  if (is_to_be_kept(network)) {
    quality_ = network;
    parameters_.assign(parameters.begin(), parameters.end());
    move_ = move;
  }
  return most_accurate;
}

bool BestNetwork::is_to_be_kept(const NetworkQuality& network) const {
  if (validation_samples_ < kFewSamples || most_accurate_only_) return is_better(network, quality_);
  const double chance = kChance * standard_error(most_accurate_.val_accuracy, validation_samples_);
  const double least = std::max(start_.val_accuracy, most_accurate_.val_accuracy - chance);
  if (network.val_accuracy < least) return false;
  return quality_.val_accuracy < least || network.objective < quality_.objective;
}

bool BestNetwork::is_better(const NetworkQuality& a, const NetworkQuality& b) const {
  if (validation_samples_ >= kFewSamples && a.val_accuracy != b.val_accuracy)
    return a.val_accuracy > b.val_accuracy;
  if (validation_samples_ > 0 && a.val_loss != b.val_loss) return a.val_loss < b.val_loss;
  return a.objective < b.objective;
}

bool BestNetwork::is_clearly_better(const NetworkQuality& a, const NetworkQuality& b) const {
  if (validation_samples_ < kFewSamples) return a.val_loss < kClearlyLower * b.val_loss;
  return a.val_accuracy > b.val_accuracy + standard_error(b.val_accuracy, validation_samples_);
}

void BestNetwork::save(Checkpoint& checkpoint) const {
  checkpoint.put_view("refine.best_parameters", std::span<const float>(parameters_));
  checkpoint.put_view("refine.start_parameters", std::span<const float>(start_parameters_));
  checkpoint.put("refine.start", flat(start_));
  checkpoint.put("refine.best", flat(quality_));
  checkpoint.put("refine.most_accurate", flat(most_accurate_));
}

void BestNetwork::restore(Checkpoint& checkpoint, int move) {
  parameters_ = checkpoint.take<float>("refine.best_parameters");
  start_parameters_ = checkpoint.take<float>("refine.start_parameters");
  start_ = quality_of(checkpoint.get<double>("refine.start", kQualityNumbers));
  quality_ = quality_of(checkpoint.get<double>("refine.best", kQualityNumbers));
  most_accurate_ = quality_of(checkpoint.get<double>("refine.most_accurate", kQualityNumbers));
  move_ = move;
}

}  // namespace lwsvm
