// The samples of a run of `lwsvm adapt` as the end of the network sees them, computed once (feature_store.h).
#pragma once

#include "base/cache_folder.h"
#include "run/adapt_copies.h"
#include "run/adapt_job.h"
#include "run/feature_store.h"
#include "run/run_context.h"

namespace lwsvm::run {

class AdaptSamples {
 public:
  // `cut`: the node of the network whose values are kept.
  AdaptSamples(const AdaptJob& job, const Copies& copies, const Model& model, int cut, const Task& task,
               const Threads& threads, const RunContext& context);

  const FeatureStore& store() const { return store_; }
  // What the new layer learns from: with the copies that were asked for.
  const SampleSource& training() const { return training_; }
  const SampleSource& left_out() const { return left_out_; }  // of the training set, for validation
  // What older layers learn from: with all copies.
  const SampleSource& with_copies() const { return with_copies_; }
  const SampleSource& everything_with_copies() const { return everything_; }  // what is left out, too
  const SampleSource& validation() const { return validation_; }
  const SampleSource& test() const { return test_; }

 private:
  FeatureView view(const std::vector<std::int32_t>& samples, bool transformed) const;

  AllSamples all_;
  CacheFolder cache_;
  FeatureStore store_;
  FeatureView training_, left_out_, with_copies_, everything_, validation_, test_;
};

}  // namespace lwsvm::run
