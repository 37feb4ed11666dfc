// What `lwsvm svm` learns from: a data set by name, or LIBSVM files, as one and the same thing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sparse_rows.h"
#include "data/dataset.h"
#include "data/normalization.h"
#include "data/sample_view.h"
#include "data/split.h"
#include "run/photo_input.h"

namespace lwsvm::run {

// What is in a LIBSVM file, from elsewhere.
struct SparseInput {
  std::string name;
  SparseRows rows;
  std::vector<std::int32_t> labels;
  int classes = 0;
  std::vector<std::string> class_names;
};

struct SvmDataOptions {
  std::string data = "fashion-mnist";
  std::string data_dir;
  std::string train_file, test_file;  // LIBSVM files; train_file empty: `rows` or `data`
  std::shared_ptr<const SparseInput> rows;
  std::string validation;  // empty: by data set; none for LIBSVM files
  std::uint64_t split_seed = 0;
  PhotoOptions photos;
  bool normalised = false;  // features will be shifted or scaled, and then are no longer zero
};

enum class SvmPart { train, validation, test };

// LIBSVM files whose features are nearly all zero, as text is: kept as they are, with the features that the
// training part has, and no others. (Those that it has not keep a weight of zero.)
struct SparseSvmData {
  struct Part {
    SparseRows rows;  // columns are places in `columns`
    std::vector<std::int32_t> labels;
  };
  std::vector<std::int32_t> columns;  // of the file, from 0, rising
  Part train, validation, test;

  const Part& part(SvmPart which) const {
    return which == SvmPart::train ? train : which == SvmPart::validation ? validation : test;
  }
};

struct SvmData {
  // Loads the data, unless they are given; throws Error.
  explicit SvmData(const SvmDataOptions& options, std::shared_ptr<const DataSet> given = nullptr);
  SvmData(const SvmData&) = delete;  // the views look at the data
  SvmData& operator=(const SvmData&) = delete;

  std::int64_t size(SvmPart which) const;
  const SampleView& view(SvmPart which) const {
    return which == SvmPart::train ? train : which == SvmPart::validation ? validation : test;
  }

  bool from_files;  // LIBSVM files, or what could be in one: taken as it is
  std::optional<SparseSvmData> sparse;
  const std::shared_ptr<const DataSet> holder;
  const DataSet& data;  // where `sparse` is there: without samples
  Split split;
  SampleView train, validation, test;

 private:
  struct Loaded {
    std::shared_ptr<const DataSet> data;
    Split split;
    std::optional<SparseSvmData> sparse;
  };
  static Loaded load(const SvmDataOptions& options, std::shared_ptr<const DataSet> given);
  static Loaded load_libsvm(const SvmDataOptions& options);
  static Loaded load_rows(const SparseInput& train, const SparseInput& test, const SvmDataOptions& options);
  SvmData(const SvmDataOptions& options, Loaded loaded);
};

// As make_normalization, but the default for LIBSVM files is to leave them as they are.
Normalization svm_normalization(const SvmData& data, const NormalizationOptions& options);

// The samples as the machine sees them: size x features, row-major, normalised.
std::vector<float> feature_matrix(const SampleView& samples, const ImageShape& shape,
                                  const Normalization& normalization);
std::vector<std::int32_t> labels_of(const SampleView& samples);

}  // namespace lwsvm::run
