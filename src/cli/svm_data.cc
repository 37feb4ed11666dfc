#include "cli/svm_data.h"

#include "base/error.h"
#include "base/machine.h"
#include "base/units.h"
#include "ssvm/libsvm_file.h"

namespace lwsvm::cli {
namespace {

// Twice: as stored, and as the solver's matrix.
void check_memory(const std::string& file, std::int64_t samples, std::int64_t features) {
  const double bytes = 2.0 * sizeof(float) * static_cast<double>(samples) * static_cast<double>(features);
  const auto memory = static_cast<double>(describe_machine().memory);
  if (memory > 0 && bytes > memory)
    fail("svm",
         "{}: {} samples x {} features take {} as dense numbers, and the machine has {}; lwsvm svm is for "
         "dense data",
         file, format_count(samples), format_count(features), format_bytes(bytes), format_bytes(memory));
}

Samples to_samples(LibsvmData&& file, const ImageShape& shape) {
  std::vector<float> numbers = file.dense(shape.size());
  return Samples(shape, std::move(numbers), std::move(file.labels));
}

// Features are channels of one pixel each, as for an .npz of N x F: so a model made from one fits the other.
DataSet load_libsvm(const std::string& train_file, const std::string& test_file) {
  LibsvmData train = read_libsvm(std::filesystem::path(train_file));
  if (train.classes() < 2)
    fail("svm", "{}: all labels are {}; at least two classes are needed", train_file, train.class_names[0]);
  if (train.width < 1) fail("svm", "{}: no sample has a feature; there is nothing to learn from", train_file);
  const ImageShape shape{static_cast<int>(train.width), 1, 1};
  const int classes = train.classes();
  std::vector<std::string> names;
  for (const std::int64_t label : train.class_names) names.push_back(std::to_string(label));

  LibsvmData test;
  if (!test_file.empty())
    test = read_libsvm(std::filesystem::path(test_file), &train.class_names, train.width);
  check_memory(train_file, train.samples() + test.samples(), train.width);
  Samples test_samples = test_file.empty() ? Samples() : to_samples(std::move(test), shape);
  DataSet data = make_data_set("svm", train_file, shape, to_samples(std::move(train), shape),
                               std::move(test_samples), classes);
  data.class_names = std::move(names);
  return data;
}

std::size_t validation_count(const SvmDataOptions& options, const DataSet& data) {
  if (!data.validation.empty()) {
    if (!options.validation.empty())
      fail("svm", "{} has a validation part of its own (x_val); leave out --val", data.name);
    return 0;
  }
  if (!options.validation.empty()) return parse_validation_count(options.validation, data.train.size());
  return options.train_file.empty() ? default_validation_count(data) : 0;
}

}  // namespace

SvmData::SvmData(const SvmDataOptions& options)
    : from_files(!options.train_file.empty()),
      data(from_files ? load_libsvm(options.train_file, options.test_file)
                      : load_data(options.data, options.data_dir)),
      split(split_samples(data.train.size(), validation_count(options, data), options.split_seed)),
      train(data.train, split.train),
      validation(data.validation.empty() ? SampleView(data.train, split.validation)
                                         : SampleView(data.validation)),
      test(data.test) {}

Normalization svm_normalization(const SvmData& data, const NormalizationOptions& options) {
  if (data.from_files && !options.given()) return {};
  return make_normalization(data.data, data.split.train, options);
}

std::vector<float> feature_matrix(const SampleView& samples, const ImageShape& shape,
                                  const Normalization& normalization) {
  std::vector<float> matrix(static_cast<std::size_t>(samples.size() * shape.size()));
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    float* row = matrix.data() + i * shape.size();
    samples.read(i, row);
    normalization.apply(shape, row);
  }
  return matrix;
}

std::vector<std::int32_t> labels_of(const SampleView& samples) {
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < samples.size(); ++i) labels.push_back(samples.label(i));
  return labels;
}

}  // namespace lwsvm::cli
