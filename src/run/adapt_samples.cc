#include "run/adapt_samples.h"

#include "base/units.h"
#include "run/frozen_features.h"

namespace lwsvm::run {
namespace {

FeatureOptions options_for(const AdaptJob& job, const Model& model, int cut, const Task& task,
                           const RunContext& context, const AllSamples& all, const CacheFolder& cache) {
  FeatureOptions options =
      feature_options(model, cut, job.input, task, job.task.augment, all, cache, context);
  options.half = job.half_features;
  options.memory = parse_bytes(job.memory, "memory") / 2;
  return options;
}

}  // namespace

AdaptSamples::AdaptSamples(const AdaptJob& job, const Model& model, int cut, const Task& task,
                           const Threads& threads, const RunContext& context)
    : all_(task.data, parse_augmentation(job.task.augment, task.data)),
      cache_(context.cache, context.cache_limit),
      store_(model.graph, cut, all_, options_for(job, model, cut, task, context, all_, cache_), threads),
      training_(view(task.split.train, true)),
      validation_(task.data.validation.empty() ? view(task.split.validation, false)
                                               : FeatureView(store_, all_, all_.of_validation())),
      left_out_(view(task.split.validation, true)),
      test_(store_, all_, all_.of_test()) {}

FeatureView AdaptSamples::view(const std::vector<std::int32_t>& samples, bool transformed) const {
  return {store_, all_, all_.of_training(samples, transformed), transformed ? all_.transforms() : 1};
}

}  // namespace lwsvm::run
