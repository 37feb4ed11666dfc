// The data sets that are known by name: what they are, where they may be, and how to get those that are not
// there.
//
// A data set lies in a folder of its name in data_dir or in the cache folder ($XDG_CACHE_HOME/lwsvm, or
// ~/.cache/lwsvm), in its original form: four IDX files, or CIFAR's binary files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "lwsvm/datasets.h"

namespace lwsvm {

enum class DataFormat { idx, cifar10, cifar100 };

struct KnownFile {
  std::string name;
  std::uint64_t bytes;
  std::string sha256;  // of the content, unpacked; empty if not known
};

struct KnownDataSet {
  std::string name, description;
  DataFormat format;
  std::size_t train, test;
  int classes;
  std::vector<KnownFile> files;
  std::vector<std::string> class_names;
  std::string system_folder;  // where a package of the system puts it, or empty
  std::string source;         // what `lwsvm data get` takes it from
};

std::span<const KnownDataSet> known_data_sets();
const KnownDataSet* find_known(const std::string& name);  // null: not known
std::string nearest_known(const std::string& name);       // by edit distance; "synthetic" counts too
[[noreturn]] void fail_unknown(const std::string& name);  // with the nearest known name

// data_dir if given, else the cache folder. Throws Error if there is no home folder to put it in.
std::filesystem::path data_folder(const std::filesystem::path& data_dir = {});

// The folder that holds all files of the set (by name and size, raw or .gz), or empty.
std::filesystem::path find_data(const KnownDataSet& known, const std::filesystem::path& data_dir = {});

DataSet load_known(const KnownDataSet& known, const std::filesystem::path& data_dir = {});

}  // namespace lwsvm
