// What a run is given beside its job.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cache_folder.h"
#include "base/messages.h"
#include "base/team.h"
#include "data/dataset.h"
#include "engine/threads.h"
#include "model/model.h"
#include "run/recorder.h"

namespace lwsvm::run {

inline Messages& silence() {
  static Messages silent;
  return silent;
}

struct RunContext {
  int threads = 0;                      // 0: all cores
  std::string data_dir;                 // where known data sets lie; a resumed run may be given another
  Messages* messages = &silence();      // whoever is told what a person should know
  std::vector<RunObserver*> observers;  // whoever hears of every step, and may end the run
  std::string cache{};                  // folder of what commands keep for each other; empty: the default
  std::uint64_t cache_limit = kDefaultCacheLimit;
  Team* team = &alone();  // the ranks that do this run together
};

// As many threads as were asked for; a word where the system has granted fewer.
Threads start_threads(int wanted, Messages& messages);

// What a run works on where that does not come from files: then nothing is written either.
struct RunInput {
  bool in_memory = false;
  std::optional<Model> model;
  std::shared_ptr<const DataSet> data;
};

}  // namespace lwsvm::run
