// What `lwsvm svm` learns from: a data set by name, or LIBSVM files, as one and the same thing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/normalization.h"
#include "data/sample_view.h"
#include "data/split.h"

namespace lwsvm::cli {

struct SvmDataOptions {
  std::string data = "fashion-mnist";
  std::string data_dir;
  std::string train_file, test_file;  // LIBSVM files; train_file empty: `data`
  std::string validation;             // empty: by data set; none for LIBSVM files
  std::uint64_t split_seed = 0;
};

struct SvmData {
  explicit SvmData(const SvmDataOptions& options);  // loads the data; throws Error
  SvmData(const SvmData&) = delete;                 // the views look at the data
  SvmData& operator=(const SvmData&) = delete;

  bool from_files;  // LIBSVM files: what is in them is taken as it is
  DataSet data;
  Split split;
  SampleView train, validation, test;
};

// As make_normalization, but the default for LIBSVM files is to leave them as they are.
Normalization svm_normalization(const SvmData& data, const NormalizationOptions& options);

// The samples as the machine sees them: size x features, row-major, normalised.
std::vector<float> feature_matrix(const SampleView& samples, const ImageShape& shape,
                                  const Normalization& normalization);
std::vector<std::int32_t> labels_of(const SampleView& samples);

}  // namespace lwsvm::cli
