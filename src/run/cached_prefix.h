// The frozen part of a network that is refined on photos: computed once, and found again by the next command,
// where there is time for that or it is there already. Of several ranks each has that of its own samples.
#pragma once

#include <memory>
#include <optional>

#include "base/sample_part.h"
#include "run/feature_store.h"
#include "run/judged_part.h"
#include "run/refine_job.h"
#include "run/run_context.h"

namespace lwsvm::run {

// One rank's training samples with their copies, then its validation samples.
class OwnSamples final : public SampleSource {
 public:
  OwnSamples(const Task& task, const Team& team)
      : training_(task.training, team), validation_(task.validation, team) {}

  std::int64_t size() const override { return training_.size() + validation_.size(); }
  std::int32_t label(std::int64_t index) const override {
    return index < training_.size() ? training_.label(index) : validation_.label(index - training_.size());
  }
  void read(std::int64_t index, float* target) const override {
    index < training_.size() ? training_.read(index, target)
                             : validation_.read(index - training_.size(), target);
  }
  std::vector<std::int32_t> rows(bool training) const;

 private:
  SamplePart training_, validation_;
};

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
  const SampleSource& samples() const;

  const RefineJob& job_;
  const Model& model_;
  const Task& task_;
  JudgedPart judged_;
  const Threads& threads_;
  const RunContext& context_;
  AllSamples all_;
  std::optional<OwnSamples> own_;  // of several ranks, in their place
  CacheFolder cache_;
  std::unique_ptr<const FeatureStore> store_;
  double affordable_ = -1;  // samples; below 0: any number
};

}  // namespace lwsvm::run
