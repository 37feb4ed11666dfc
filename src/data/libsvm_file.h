// LIBSVM's text format: a sample a line,
//
//   label index:value index:value ...
//
// Indices begin at 1 and rise; what is not listed is zero; # begins a comment.
// Labels are any integers ("+1" and "3.0" too); classes are numbered in the order of their labels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "base/sparse_rows.h"

namespace lwsvm {

struct LibsvmData : SparseRows {          // width: the highest index seen
  std::vector<std::int32_t> labels;       // class of each sample
  std::vector<std::int64_t> class_names;  // class -> label in the file, rising

  std::int64_t samples() const { return std::ssize(labels); }
  int classes() const { return static_cast<int>(class_names.size()); }
  // N x at_width, row-major; 0 means width. Features beyond at_width are an Error.
  std::vector<float> dense(std::int64_t at_width = 0) const;
};

// Throws Error naming file and line. For a test file give the training file's class names and its width: a
// label that is not among them, or an index beyond that width (which may be 0), is an Error.
LibsvmData read_libsvm(std::istream& stream, const std::string& name,
                       const std::vector<std::int64_t>* class_names = nullptr,
                       std::optional<std::int64_t> max_features = {});
LibsvmData read_libsvm(const std::filesystem::path& path,
                       const std::vector<std::int64_t>* class_names = nullptr,
                       std::optional<std::int64_t> max_features = {});

}  // namespace lwsvm
