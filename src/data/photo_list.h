// Which photos there are, of which class and for what: from folders, or from a CSV file.
//
//   ROOT/CLASS/...                        all for training
//   ROOT/{train,val,test}/CLASS/...       `val` without `test` is the test part, as the tutorials use it
//   FILE.csv                              path,label or path,label,split; paths begin where the file is
//
// Everything below CLASS counts, links are followed. Names that begin with a dot are no classes. Nothing is
// opened here: what a file is shows when it is decoded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lwsvm {

enum class PhotoPart { train, validation, test };

struct PhotoFile {
  std::filesystem::path path;
  std::string name;  // below the root, for messages
  PhotoPart part = PhotoPart::train;
  std::int32_t label = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970
  bool regular = true;        // false: a pipe, a device
  std::string problem;        // why it cannot be opened; empty: nothing known
};

struct PhotoList {
  std::vector<PhotoFile> files;  // by part, class and name
  std::vector<std::string> class_names;
  std::vector<std::string> notes;  // what a person should know, a line each
};

// Whether there are folders of classes in it, or of parts.
bool is_photo_folder(const std::filesystem::path& folder);
PhotoList list_photo_folder(const std::filesystem::path& folder);  // throws Error
PhotoList list_photo_csv(const std::filesystem::path& file);       // throws Error

}  // namespace lwsvm
