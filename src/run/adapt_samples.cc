#include "run/adapt_samples.h"

#include "base/units.h"
#include "run/frozen_features.h"

namespace lwsvm::run {
namespace {

FeatureOptions options_for(const AdaptJob& job, const Copies& copies, const Model& model, int cut,
                           const Task& task, const RunContext& context, const AllSamples& all,
                           const CacheFolder& cache) {
  FeatureOptions options = feature_options(model, cut, job.input, task, copies.words, all, cache, context);
  options.half = job.half_features;
  options.memory = parse_bytes(job.memory, "memory") / 2;
  return options;
}

std::vector<std::int32_t> joined(std::vector<std::int32_t> a, const std::vector<std::int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

AdaptSamples::AdaptSamples(const AdaptJob& job, const Copies& copies, const Model& model, int cut,
                           const Task& task, const Threads& threads, const RunContext& context)
    : all_(task.data, parse_augmentation(copies.words, task.data)),
      cache_(context.cache, context.cache_limit),
      store_(model.graph, cut, all_, options_for(job, copies, model, cut, task, context, all_, cache_),
             threads),
      training_(view(task.split.train, copies.asked_for)),
      left_out_(view(task.split.validation, copies.asked_for)),
      with_copies_(view(task.split.train, true)),
      everything_(view(joined(task.split.train, task.split.validation), true)),
      validation_(task.data.validation.empty() ? view(task.split.validation, false)
                                               : FeatureView(store_, all_, all_.of_validation())),
      test_(store_, all_, all_.of_test()) {}

FeatureView AdaptSamples::view(const std::vector<std::int32_t>& samples, bool transformed) const {
  return {store_, all_, all_.of_training(samples, transformed), transformed ? all_.transforms() : 1};
}

}  // namespace lwsvm::run
