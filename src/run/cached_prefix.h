// The frozen part of a network that is refined on photos: computed once, and found again by the next command,
// where there is time for that or it is there already.
#pragma once

#include <memory>

#include "run/feature_store.h"
#include "run/judged_part.h"
#include "run/refine_job.h"
#include "run/run_context.h"

namespace lwsvm::run {

class CachedPrefix {
 public:
  CachedPrefix(const RefineJob& job, const Model& model, const Task& task, const JudgedPart& judged,
               const Threads& threads, const RunContext& context);

  // `seconds`: what a look at one sample takes, if that is known; `seconds_left`: until the time is up.
  void set_time(std::optional<double> seconds, double seconds_left);
  // The frozen part up to the node (-1: there is none) can be run once for the samples that are worked on, or
  // was.
  bool can_keep(int node);
  // The training samples, or those for validation, at the node; null: not here.
  std::unique_ptr<SampleSource> part(int node, bool training);

 private:
  bool time_for(std::int64_t samples) const;
  bool open(int node);

  const RefineJob& job_;
  const Model& model_;
  const Task& task_;
  JudgedPart judged_;
  const Threads& threads_;
  const RunContext& context_;
  AllSamples all_;
  CacheFolder cache_;
  std::unique_ptr<const FeatureStore> store_;
  double affordable_ = -1;  // samples; below 0: any number
};

}  // namespace lwsvm::run
