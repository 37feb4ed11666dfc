#include "run/svm_data.h"

#include "base/error.h"
#include "base/machine.h"
#include "base/units.h"
#include "data/libsvm_file.h"
#include "ssvm/multiclass_svm.h"

namespace lwsvm::run {
namespace {

// From this share of entries on, a file is kept as a matrix: its products are an order of magnitude faster.
constexpr double kDense = 0.125;

void check_memory(const std::string& file, double bytes, const std::string& what, const char* remedy) {
  const auto memory = static_cast<double>(describe_machine().memory);
  if (memory > 0 && bytes > memory)
    fail("svm", "{}: {} take {}, and the machine has {}; {}", file, what, format_bytes(bytes),
         format_bytes(memory), remedy);
}

// The weights, and the margin matrix of all pairs of classes.
double model_bytes(int classes, std::int64_t features) {
  return static_cast<double>(classes) * static_cast<double>(classes) * sizeof(float) +
         svm_weight_bytes(classes, features);
}

std::size_t validation_count(const SvmDataOptions& options, const DataSet& data) {
  if (!data.validation.empty()) {
    if (!options.validation.empty())
      fail("svm", "{} has a validation part of its own (x_val); leave out --val", data.name);
    return 0;
  }
  if (!options.validation.empty()) return parse_validation_count(options.validation, data.train.size());
  return default_validation_count(data);
}

std::vector<std::int32_t> picked(const std::vector<std::int32_t>& labels,
                                 std::span<const std::int32_t> which) {
  std::vector<std::int32_t> result;
  for (const std::int32_t i : which) result.push_back(labels[static_cast<std::size_t>(i)]);
  return result;
}

Samples to_samples(const SparseInput& rows, const ImageShape& shape) {
  if (rows.labels.empty()) return {};
  return Samples(shape, rows.rows.dense(shape.size()), rows.labels);
}

SparseInput to_rows(LibsvmData file, const std::string& name) {
  SparseInput rows{name, {}, std::move(file.labels), file.classes(), {}};
  for (const std::int64_t label : file.class_names) rows.class_names.push_back(std::to_string(label));
  rows.rows = std::move(static_cast<SparseRows&>(file));
  return rows;
}

}  // namespace

SvmData::Loaded SvmData::load_libsvm(const SvmDataOptions& options) {
  const std::string& file = options.train_file;
  LibsvmData train = read_libsvm(std::filesystem::path(file));
  if (train.classes() < 2)
    fail("svm", "{}: all labels are {}; at least two classes are needed", file, train.class_names[0]);
  if (train.width < 1) fail("svm", "{}: no sample has a feature; there is nothing to learn from", file);
  LibsvmData test;
  if (!options.test_file.empty())
    test = read_libsvm(std::filesystem::path(options.test_file), &train.class_names, train.width);
  return load_rows(to_rows(std::move(train), file), to_rows(std::move(test), options.test_file), options);
}

// Features are channels of one pixel each, as for an .npz of N x F: so a model made from one fits the other.
SvmData::Loaded SvmData::load_rows(const SparseInput& train, const SparseInput& test,
                                   const SvmDataOptions& options) {
  if (train.labels.empty()) fail("svm", "{}: there are no samples; nothing can be learnt", train.name);
  if (train.classes < 2) fail("svm", "{}: at least two classes are needed", train.name);
  Loaded loaded;
  DataSet data;
  const std::int64_t width = train.rows.width;
  const ImageShape shape{static_cast<int>(width), 1, 1};
  const std::size_t samples = train.labels.size();
  loaded.split = split_samples(
      samples, options.validation.empty() ? 0 : parse_validation_count(options.validation, samples),
      options.split_seed);
  const double numbers =
      static_cast<double>(train.rows.rows() + test.rows.rows()) * static_cast<double>(width);
  const bool dense = static_cast<double>(train.rows.entries() + test.rows.entries()) >= kDense * numbers;
  if (dense || options.normalised) {
    // The samples twice: as stored, and as the solver's matrix.
    check_memory(train.name, 2.0 * sizeof(float) * numbers + model_bytes(train.classes, width),
                 fmt::format("{} samples x {} features and {} classes as dense numbers",
                             format_count(train.rows.rows() + test.rows.rows()), format_count(width),
                             format_count(train.classes)),
                 dense ? "use fewer samples, or fewer classes"
                       : "features that are shifted or scaled are no longer zero: normalise the file itself");
    data = make_data_set("svm", train.name, shape, to_samples(train, shape), to_samples(test, shape),
                         train.classes);
  } else {
    SparseSvmData& sparse = loaded.sparse.emplace();
    sparse.train = {train.rows.picked(loaded.split.train), picked(train.labels, loaded.split.train)};
    sparse.columns = sparse.train.rows.used_columns();
    if (sparse.columns.empty())
      fail("svm", "{}: no sample has a feature; there is nothing to learn from", train.name);
    sparse.train.rows = sparse.train.rows.with_columns(sparse.columns);
    sparse.validation = {train.rows.picked(loaded.split.validation).with_columns(sparse.columns),
                         picked(train.labels, loaded.split.validation)};
    sparse.test = {test.rows.with_columns(sparse.columns), test.labels};
    check_memory(train.name, model_bytes(train.classes, std::ssize(sparse.columns)),
                 fmt::format("{} classes x {} features", format_count(train.classes),
                             format_count(std::ssize(sparse.columns))),
                 "are the labels really classes? Fewer of them, or of the features, need less");
    data.name = std::filesystem::path(train.name).filename().string();
    data.shape = shape;
    data.classes = train.classes;
  }
  data.class_names = train.class_names;
  loaded.data = std::make_shared<const DataSet>(std::move(data));
  return loaded;
}

SvmData::Loaded SvmData::load(const SvmDataOptions& options, std::shared_ptr<const DataSet> given) {
  if (!options.train_file.empty()) return load_libsvm(options);
  if (options.rows) return load_rows(*options.rows, {}, options);
  Loaded loaded;
  loaded.data =
      given ? std::move(given) : std::make_shared<const DataSet>(load_data(options.data, options.data_dir));
  loaded.split =
      split_samples(loaded.data->train.size(), validation_count(options, *loaded.data), options.split_seed);
  return loaded;
}

SvmData::SvmData(const SvmDataOptions& options, std::shared_ptr<const DataSet> given)
    : SvmData(options, load(options, std::move(given))) {}

SvmData::SvmData(const SvmDataOptions& options, Loaded loaded)
    : from_files(!options.train_file.empty() || options.rows),
      sparse(std::move(loaded.sparse)),
      holder(std::move(loaded.data)),
      data(*holder),
      split(std::move(loaded.split)),
      train(data.train, sparse ? std::vector<std::int32_t>() : split.train),
      validation(data.validation.empty()
                     ? SampleView(data.train, sparse ? std::vector<std::int32_t>() : split.validation)
                     : SampleView(data.validation)),
      test(data.test) {}

std::int64_t SvmData::size(SvmPart which) const {
  return sparse ? sparse->part(which).rows.rows() : view(which).size();
}

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

}  // namespace lwsvm::run
