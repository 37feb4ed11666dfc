// What a refinement is judged on: all samples or, where one look at them would take too much of the time
// limit, a random part of them. Otherwise a large network would spend a short limit on being looked at and
// come back as it was.
#pragma once

#include <cstdint>
#include <optional>

#include "base/sample_source.h"
#include "base/sample_subset.h"
#include "engine/threads.h"
#include "lwsvm/refine_options.h"
#include "model/model.h"
#include "run/task.h"

namespace lwsvm::run {

struct JudgedPart {
  std::int64_t training = 0, validation = 0;  // samples; 0: all
  bool test = true;                           // whether the test part is looked at, too

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // run/settings.h
    visit("judged_training", self.training);
    visit("judged_validation", self.validation);
    visit("judged_test", self.test);
  }
};

// For a time limit in seconds, by how long some samples take. Throws Interrupted at Ctrl-C.
JudgedPart choose_judged_part(const Model& model, const Task& task, double time_limit,
                              const Threads& threads);

// Some samples of a source, or all of them.
class PartOf {
 public:
  PartOf(const SampleSource& source, std::int64_t count, std::uint64_t seed) : all_(source) {
    if (count > 0) some_.emplace(source, judged_samples(source.size(), count, seed));
  }
  const SampleSource& samples() const { return some_ ? *some_ : all_; }

 private:
  const SampleSource& all_;
  std::optional<SampleSubset> some_;
};

}  // namespace lwsvm::run
