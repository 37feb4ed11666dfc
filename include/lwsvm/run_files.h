// Runs from file to file, as the command line makes them: with a folder in which a run leaves a log and
// checkpoints, so that it can go on to the same bits in another process, also after a kill.
//
//   refine({.network = "theirs.onnx", .data = {"mnist"}, .run_folder = "run"});    // -> theirs.refined.onnx
//   resume_refine("run");                                       // goes on with it, with its own settings
//   resume_refine("run", {.passes = 20}, {"--passes"});         // but for this one
//
// Of the settings and files that a run is resumed with, callbacks, threads and caches count, where known data
// sets lie, and what `given` names as the command line does ("--passes", "--output"). What may change
// (`lwsvm refine --help` and so on) is taken anew; the rest must be as it was, and an Error names what is
// not.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lwsvm/data.h"

namespace lwsvm {

class Team;  // not public

struct DataSource {
  std::string name = "fashion-mnist";  // or a path, as Data::load() takes it
  std::string data_dir{};              // where known data sets lie
  PhotoSettings photos{};
  std::string margins{};  // CSV file of the margin matrix; counts where TaskSettings::margins is empty
};

// What takes long and has no progress of its own: "photos", "features". Over when all is done.
using OnWork = std::function<void(const std::string& what, std::int64_t done, std::int64_t total)>;

struct RunFiles {
  std::string network{};      // ONNX file to begin with; train() takes none for a new network
  std::string output_name{};  // which of its outputs holds the scores, where it has several
  DataSource data{};
  std::string output{};      // ONNX file to write; empty: named after what it was made of
  std::string run_folder{};  // for the log and checkpoints; empty: there are none
  OnWork on_work{};
  Team* team = nullptr;  // for the command line under mpirun: the ranks that refine together; null: alone
};

using GivenAnew = std::vector<std::string>;

}  // namespace lwsvm
