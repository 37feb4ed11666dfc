// Shows a run while it runs: a bar on a terminal, a line for every epoch and every move.
#pragma once

#include <cstdint>
#include <optional>

#include "base/progress.h"
#include "cli/commands.h"
#include "lwsvm/progress.h"
#include "lwsvm/train.h"

namespace lwsvm::cli {

class RunDisplay {
 public:
  explicit RunDisplay(Terminal& terminal) : terminal_(terminal) {}

  // Listens to what runs with these settings tell. It must outlive them.
  void follow(TrainSettings& settings);
  template <typename Settings>  // of refine or adapt
  void follow(Settings& settings) {
    settings.on_progress = [this](const RefineProgress& progress) { return show(progress), true; };
    settings.on_update = [this](const RefineUpdate& update) { return show(update), true; };
    settings.on_pass = [this](const RefinePass& pass) { return show(pass), true; };
    settings.on_trial = [this](const RadiusTrial& trial) { show(trial); };
  }

 private:
  void show(const TrainProgress& progress);
  void show(const TrainEpoch& epoch);
  void show(const RefineProgress& progress);
  void show(const RefineUpdate& update);
  void show(const RefinePass& pass);
  void show(const RadiusTrial& trial);

  Terminal& terminal_;
  std::optional<Progress> bar_;
};

// What every run by files is given beside its own options.
template <typename Settings>
void connect(const Common& common, Terminal& terminal, RunDisplay& display, RunFiles& files,
             Settings& settings) {
  files.data = located(files.data, common);
  files.team = common.team;
  settings.threads = common.threads;
  if (!common.team->is_first()) return;  // the first one talks
  files.on_work = bars_on(terminal);
  settings.on_message = lines_on(terminal);
  display.follow(settings);
}

}  // namespace lwsvm::cli
