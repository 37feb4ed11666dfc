// The samples of a run of `lwsvm adapt` as the end of the network sees them, computed once (feature_store.h).
#pragma once

#include "base/cache_folder.h"
#include "run/adapt_job.h"
#include "run/feature_store.h"
#include "run/run_context.h"

namespace lwsvm::run {

class AdaptSamples {
 public:
  // `cut`: the node of the network whose values are kept.
  AdaptSamples(const AdaptJob& job, const Model& model, int cut, const Task& task, const Threads& threads,
               const RunContext& context);

  const FeatureStore& store() const { return store_; }
  const SampleSource& training() const { return training_; }
  const SampleSource& validation() const { return validation_; }
  const SampleSource& left_out() const { return left_out_; }  // of the training set, with their copies
  const SampleSource& test() const { return test_; }

 private:
  FeatureView view(const std::vector<std::int32_t>& samples, bool transformed) const;

  AllSamples all_;
  CacheFolder cache_;
  FeatureStore store_;
  FeatureView training_, validation_, left_out_, test_;
};

}  // namespace lwsvm::run
