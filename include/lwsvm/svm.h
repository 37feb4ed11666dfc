// A plain multi-class linear SVM [Crammer and Singer 2001] on the samples as they are, with a certificate:
// what LIBLINEAR solves with -s 4 -B 1.
//
//   P = lambda/2 (||W||^2 + ||b||^2) + 1/N sum_i max_y [ Delta(y, y_i) + s_y(x_i) - s_{y_i}(x_i) ]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lwsvm/data.h"
#include "lwsvm/model.h"
#include "lwsvm/run_files.h"

namespace lwsvm {

// primal and gap are estimates, but for the last report, which is made when all is done.
struct SvmProgress {
  int epoch = 0;  // finished epochs
  bool epoch_end = false;
  double primal = 0, dual = 0, gap = 0;
  double seconds = 0;

  double relative_gap() const { return primal > 0 ? gap / primal : 0; }
};

struct SvmSettings {
  TaskSettings task{};  // nothing is augmented
  PixelSettings pixels{};
  double lambda = 1e-3;
  double gap = 1e-3;  // stops when P - D <= gap * P
  int max_epochs = 1000;
  int batch = 200;
  std::uint64_t seed = 0;
  int threads = 0;  // 0: all cores; the result is the same

  std::function<bool(const SvmProgress&)> on_progress{};  // returns false to stop
  std::function<void(const std::string&)> on_message{};   // what a person should know
};

struct SvmSummary {
  double objective = 0, dual = 0;
  double gap = 0, relative_gap = 0;  // objective - dual, and as a share of the objective
  double train_accuracy = 0;
  std::optional<double> val_accuracy, test_accuracy;
  double lambda = 0;
  double c = 0;  // what LIBLINEAR takes in place of lambda: 1 / (lambda N)
  std::int64_t samples = 0, features = 0;
  int classes = 0;
  int epochs = 0;
  std::uint64_t visits = 0, dual_bytes = 0;
  double seconds = 0;
  std::string reason;  // why it ended
  bool finished = true;
  std::string model;  // the file that was written, where one was
};

// `network` becomes the SVM. Throws Error; the network is then as it was.
SvmSummary train_svm(Network& network, const Data& data, const SvmSettings& settings = {});

// Samples that list only the features that are not zero, row after row.
struct SparseSamples {
  std::int64_t features = 0;
  std::vector<std::int64_t> row_begin{0};  // samples + 1: where each sample's entries begin
  std::vector<std::int32_t> columns{};     // from 0, rising within a sample
  std::vector<float> values{};             // finite
  std::vector<std::int32_t> labels{};      // from 0
  int classes = 0;                         // 0: the largest label plus one
  std::vector<std::string> class_names{};
  std::string name = "samples";
};

// The same, in memory and time that go with the entries where nearly all features are zero. Features are
// taken as they are unless settings say otherwise; a validation part is split off only if it is asked for.
SvmSummary train_svm(Network& network, SparseSamples samples, const SvmSettings& settings = {});

struct SvmFiles {
  std::string train{}, test{};  // LIBSVM files to learn from and to test on; `train` empty: `data`
  DataSource data{};
  std::string output{};  // ONNX file to write; empty: none
  OnWork on_work{};
};

// The same of files.
SvmSummary train_svm(const SvmFiles& files, const SvmSettings& settings = {});

}  // namespace lwsvm
