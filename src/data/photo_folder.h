// Photos as a data set: listed (photo_list.h), decoded once by several threads, kept for the next command
// (photo_store.h).
//
// The cache file is that of one folder and one geometry. Of photos that are in it with the same path, size
// and time the pixels are taken from there, so that a folder to which a photo was added costs that photo.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/messages.h"
#include "data/dataset.h"
#include "data/photo.h"

namespace lwsvm {

// `path` is a folder of photos, or a CSV file. Says what was left out; throws Error where a photo is damaged
// and settings.skip_bad is not set, or a class has none to learn from.
DataSet load_photos(const std::filesystem::path& path, const LoadOptions& options);

}  // namespace lwsvm
