// What a refinement decides before its first move, by looking at the network and the data: its options, the
// centre, lambda, what it is judged on, and what the network is worth at the start. A resumed run takes what
// was found from its settings.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/messages.h"
#include "base/team.h"
#include "lwsvm/refine_observer.h"
#include "lwsvm/refine_options.h"
#include "run/centre.h"
#include "run/judged_part.h"
#include "run/mirrored.h"
#include "run/quality.h"
#include "run/refine_job.h"
#include "run/run_folder.h"
#include "run/stop_policy.h"
#include "run/task.h"

namespace lwsvm::run {

// What a run finds out when it begins, and must not find otherwise when it is resumed.
struct RefineFindings {
  std::string lambda;  // chosen, or as given
  JudgedPart judged;
  bool mirrored = false;  // sweeps draw mirrored images, too
  Quality start;
  std::string centre_file;  // where a centre at the start came from, absolute

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // run/settings.h
    visit("lambda", self.lambda);
    JudgedPart::fields(self.judged, visit);
    visit("mirrored", self.mirrored);
    visit("start", self.start);
    visit("centre_file", self.centre_file);
  }
};

nlohmann::json settings_with(const RefineJob& job, const RefineFindings& found);

// What the network is worth before anything is done to it. Its loss alone: lambda may depend on that.
struct RefineStart {
  NetworkQuality judged;     // on the samples that moves are judged on
  double seconds = 0;        // that it took to see that
  std::int64_t samples = 0;  // of so many
};

struct RefinePlan {
  RefineOptions options;
  std::unique_ptr<MirroredSamples> sweep_samples;  // that the options refer to, if they do
  Centre centre;                                   // without its weights, which are in the options
  RefineFindings found;
  std::optional<RefineStart> start;  // absent: the checkpoint has it
};

// `saved`: of the run that goes on. May adapt the network to --lambda auto.
RefinePlan make_plan(const RefineJob& job, const std::optional<SavedRun>& saved, Model& model,
                     const Task& task, double time_limit, const Threads& threads, StopPolicy& stop_policy,
                     Messages& messages, Team& team);

// Names and options that cannot be are refused before the data are read and anything is computed.
void check_words(const RefineJob& job, const Model& model);

double seconds_of(const std::string& time_limit);  // none: 0

// F as the paper has it, over all layers and around zero.
bool is_papers_objective(const RefineOptions& options);

}  // namespace lwsvm::run
