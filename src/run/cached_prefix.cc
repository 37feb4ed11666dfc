#include "run/cached_prefix.h"

#include <cmath>
#include <numeric>

#include "base/units.h"
#include "data/sha256.h"
#include "run/frozen_features.h"

namespace lwsvm::run {
namespace {

constexpr double kMaxShare = 0.3;  // of the time, for a look at all samples

// Of a rank's samples, which follow from the split and the number of ranks.
std::string key_of_part(const std::string& key, const SplitChoice& split, const Team& team) {
  Sha256 hash;
  const std::string text = fmt::format("{} rank {} of {}, split {} {}", key, team.rank(), team.size(),
                                       split.validation, split.seed);
  hash.update(text.data(), text.size());
  return hash.hex();
}

}  // namespace

CachedPrefix::CachedPrefix(const RefineJob& job, const Model& model, const Task& task,
                           const JudgedPart& judged, const Threads& threads, const RunContext& context)
    : job_(job),
      model_(model),
      task_(task),
      judged_(judged),
      threads_(threads),
      context_(context),
      all_(task.data, parse_augmentation(job.task.augment, task.data)),
      cache_(context.cache, context.cache_limit) {
  if (!context.team->is_alone()) own_.emplace(task, *context.team);
}

const SampleSource& CachedPrefix::samples() const {
  return own_ ? static_cast<const SampleSource&>(*own_) : all_;
}

std::vector<std::int32_t> OwnSamples::rows(bool training) const {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(training ? training_.size() : validation_.size()));
  std::iota(rows.begin(), rows.end(), training ? 0 : static_cast<std::int32_t>(training_.size()));
  return rows;
}

void CachedPrefix::set_time(std::optional<double> seconds, double seconds_left) {
  if (!std::isfinite(seconds_left)) return;
  affordable_ = seconds ? kMaxShare * std::max(0.0, seconds_left) / std::max(*seconds, 1e-9) : 0;
}

bool CachedPrefix::time_for(std::int64_t samples) const {
  return affordable_ < 0 || static_cast<double>(samples) <= affordable_;
}

bool CachedPrefix::can_keep(int node) {
  return time_for(task_.training.size() + task_.validation.size()) || (node >= 0 && open(node));
}

bool CachedPrefix::open(int node) {
  if (store_) return true;
  if (task_.data.photos.empty() || !cache_.usable()) return false;
  FeatureOptions options =
      feature_options(model_, node, job_.input, task_, job_.task.augment, samples(), cache_, context_);
  if (own_) options.key = key_of_part(options.key, task_.choice, *context_.team);
  options.memory = parse_bytes(job_.memory, "memory") / 2;
  options.only_if_found = !time_for(samples().size());
  auto store = std::make_unique<const FeatureStore>(model_.graph, node, samples(), options, threads_);
  if (options.only_if_found && !store->found()) return false;
  context_.messages->line("features: {} numbers at '{}' for {} samples, {}", format_count(store->width()),
                          model_.graph.node(node).name, format_count(store->size()),
                          store->found() ? "found in the cache" : "computed");
  store_ = std::move(store);
  return true;
}

std::unique_ptr<SampleSource> CachedPrefix::part(int node, bool training) {
  if (!open(node)) return nullptr;
  if (own_)
    return std::make_unique<FeatureView>(*store_, *own_, own_->rows(training),
                                         training ? task_.training.copies() : 1);
  if (training)
    return std::make_unique<FeatureView>(*store_, all_, all_.of_training(task_.split.train, true),
                                         all_.transforms());
  std::vector<std::int32_t> rows =
      task_.data.validation.empty() ? all_.of_training(task_.split.validation, false) : all_.of_validation();
  if (judged_.validation > 0) {
    std::vector<std::int32_t> some;
    for (const std::int32_t i : judged_samples(std::ssize(rows), judged_.validation, job_.refine.seed))
      some.push_back(rows[static_cast<std::size_t>(i)]);
    rows = std::move(some);
  }
  return std::make_unique<FeatureView>(*store_, all_, std::move(rows));
}

}  // namespace lwsvm::run
