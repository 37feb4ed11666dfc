#include "run/adapt_copies.h"

#include <cmath>

#include "data/augment.h"

namespace lwsvm::run {
namespace {

constexpr std::size_t kFewPhotos = 5000;
constexpr const char *kOwnCopies = "flip,crop4", *kWithoutCrops = "flip";
// To compute their features may take this part of a time limit, if a core makes so many operations a second.
constexpr double kMaxTimeShare = 0.3, kFlopsPerSecond = 3e10;

}  // namespace

bool are_few(const DataSet& data) {
  return !data.photos.empty() && data.train.size() <= kFewPhotos;
}

Copies choose_copies(const AdaptJob& job, Depth depth, const DataSet& data, double flops, double seconds,
                     int threads, bool crops) {
  if (!job.task.augment.empty() || depth == Depth::head || !are_few(data)) return {job.task.augment, true};
  const std::string words = crops ? kOwnCopies : kWithoutCrops;
  const double samples = static_cast<double>(data.train.size()) * (2 + crops_in(words));
  const double expected = samples * flops / (kFlopsPerSecond * threads);
  if (seconds > 0 && expected > kMaxTimeShare * seconds) return {};
  return {words, false};
}

bool is_beyond_doubt(std::int64_t won, std::int64_t lost) {
  constexpr double standard_errors = 2;
  return static_cast<double>(won - lost) > standard_errors * std::sqrt(static_cast<double>(won + lost));
}

}  // namespace lwsvm::run
