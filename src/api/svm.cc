#include "lwsvm/svm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "api/network_state.h"
#include "api/settings.h"
#include "base/error.h"
#include "run/svm_run.h"

namespace lwsvm {
namespace {

run::SvmJob job_of(const SvmSettings& settings, const SvmFiles& files = {}) {
  run::SvmJob job;
  job.source.data = files.data.name;
  job.source.train_file = files.train;
  job.source.test_file = files.test;
  job.source.photos = photo_options(files.data.photos);
  job.delta = files.data.margins;
  job.output = files.output;
  job.source.validation = settings.task.validation;
  job.source.split_seed = settings.task.split_seed.value_or(0);
  job.margins = settings.task.margins;
  job.pixels = settings.pixels;
  job.solver.lambda = settings.lambda;
  job.solver.relative_gap = settings.gap;
  job.solver.max_epochs = settings.max_epochs;
  job.solver.batch_size = settings.batch;
  job.solver.seed = settings.seed;
  return job;
}

void check_rows(const SparseSamples& samples) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  const std::string& name = samples.name;
  const std::vector<std::int64_t>& begin = samples.row_begin;
  if (samples.features < 1 || samples.features > kMax)
    fail("svm", "{}: {} features; there must be 1 to {}", name, samples.features, kMax);
  if (begin.empty() || begin.size() != samples.labels.size() + 1 || std::ssize(begin) > kMax)
    fail("svm", "{}: {} rows and {} labels; the two do not belong together", name, std::ssize(begin) - 1,
         samples.labels.size());
  if (begin.front() != 0 || !std::ranges::is_sorted(begin) || begin.back() != std::ssize(samples.columns) ||
      samples.columns.size() != samples.values.size())
    fail("svm",
         "{}: rows must begin at 0, follow each other and end after the last of {} columns and {} values",
         name, samples.columns.size(), samples.values.size());
  for (std::size_t row = 0; row + 1 < begin.size(); ++row)
    for (std::int64_t i = begin[row]; i < begin[row + 1]; ++i) {
      const std::int32_t column = samples.columns[static_cast<std::size_t>(i)];
      if (column < 0 || column >= samples.features)
        fail("svm", "{}: sample {} has column {}; columns are 0 to {}", name, row, column,
             samples.features - 1);
      if (i > begin[row] && samples.columns[static_cast<std::size_t>(i - 1)] >= column)
        fail("svm", "{}: sample {} has column {} after {}; columns must rise", name, row, column,
             samples.columns[static_cast<std::size_t>(i - 1)]);
      if (!std::isfinite(samples.values[static_cast<std::size_t>(i)]))
        fail("svm", "{}: feature {} of sample {} is {}; it must be a finite number", name, column, row,
             std::isnan(samples.values[static_cast<std::size_t>(i)]) ? "not a number"
                                                                     : "infinite or too large for float32");
    }
}

// Class names are kept beside: a LIBSVM file has numbers for names.
run::SparseInput input_of(SparseSamples samples) {
  check_rows(samples);
  constexpr int kMaxClasses = 65536;
  const int bound = samples.classes > 0 ? samples.classes : kMaxClasses;
  int classes = samples.classes;
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    const std::int32_t label = samples.labels[i];
    if (label < 0 || label >= bound)
      fail("svm", "{}: label {} of sample {} is out of range; labels must be 0..{}", samples.name, label, i,
           bound - 1);
    classes = std::max(classes, label + 1);
  }
  run::SparseInput input;
  input.name = std::move(samples.name);
  input.classes = classes;
  input.class_names = std::move(samples.class_names);
  input.rows.row_begin = std::move(samples.row_begin);
  input.rows.columns = std::move(samples.columns);
  input.rows.values = std::move(samples.values);
  input.rows.width = samples.features;
  input.labels = std::move(samples.labels);
  return input;
}

}  // namespace

SvmSummary train_svm(Network& network, SparseSamples samples, const SvmSettings& settings) {
  CallbackMessages messages(settings.on_message);
  run::SvmJob job = job_of(settings);
  job.source.rows = std::make_shared<const run::SparseInput>(input_of(std::move(samples)));
  run::TrainedSvm trained = run::run_svm(std::move(job), {settings.threads, "", &messages, {}},
                                         settings.on_progress, {true, {}, nullptr});
  network = network_of(trained.model);
  return std::move(trained.summary);
}

SvmSummary train_svm(const SvmFiles& files, const SvmSettings& settings) {
  CallbackMessages messages(settings.on_message, files.on_work);
  return run::run_svm(job_of(settings, files), context_of(files.data, settings.threads, messages, {}),
                      settings.on_progress)
      .summary;
}

SvmSummary train_svm(Network& network, const Data& data, const SvmSettings& settings) {
  CallbackMessages messages(settings.on_message);
  run::TrainedSvm trained = run::run_svm(job_of(settings), {settings.threads, "", &messages, {}},
                                         settings.on_progress, {true, {}, data.set()});
  network = network_of(trained.model);
  return std::move(trained.summary);
}

}  // namespace lwsvm
