// Trains a network by a gradient solver, or by Deep Frank-Wolfe without a learning rate:
//
//   minimise  F = lambda/2 sum_l ||w_l||^2 + 1/N sum_i loss_i
//
//   Network network;
//   TrainSummary summary = train(network, data, {.arch = "conv12x5-relu-pool2-dense64-relu", .epochs = 5});
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lwsvm/data.h"
#include "lwsvm/evaluate.h"
#include "lwsvm/model.h"
#include "lwsvm/progress.h"
#include "lwsvm/run_files.h"
#include "lwsvm/units.h"

namespace lwsvm {

struct TrainSettings {
  TaskSettings task{};
  PixelSettings pixels{};
  std::string arch = "mnist";         // of a new network: a name or a string of arch_grammar()
  std::string loss = "svm";           // or ce: softmax cross-entropy
  std::string solver = "adam";        // dfw, adam, adadelta, adagrad or nesterov
  double learning_rate = 0;           // 0: the solver's own
  std::optional<double> lambda{};     // absent: that of the network, or 0.001
  std::string schedule = "constant";  // of the learning rate; cosine: falls to 0 at the end
  int epochs = 10;
  TimeSpan time_limit{};  // of training: 90, or "1h30m"; 0: none
  int batch = 200;
  int eval_every = 1;      // epochs between evaluations of the objective
  std::uint64_t seed = 0;  // of initial weights, batch order and dropout
  int threads = 0;         // 0: all cores; the result is the same

  // These return false to stop; the network so far is kept.
  std::function<bool(const TrainProgress&)> on_progress{};
  std::function<bool(const TrainEpoch&)> on_epoch{};
  std::function<void(const std::string&)> on_message{};  // what a person should know
  std::function<void(const RadiusTrial&)> on_trial{};    // dfw
};

struct TrainSummary {
  Quality end;
  int epochs = 0;
  double seconds = 0;    // of training, evaluations left out
  bool finished = true;  // false: stopped
  std::string model;     // the file that was written, where one was
};

// Goes on with the network, or builds one if it is empty. Throws Error; the network is then as it was.
TrainSummary train(Network& network, const Data& data, const TrainSettings& settings = {});

// The same from file to file (run_files.h); the network is written to `files.output`, or ARCH-DATA.onnx, or
// model.onnx in the run folder.
TrainSummary train(const RunFiles& files, const TrainSettings& settings = {});
TrainSummary resume_train(const std::string& run_folder, const TrainSettings& settings = {},
                          const GivenAnew& given = {}, const RunFiles& files = {});

std::string arch_grammar();  // what TrainSettings::arch may be, as text for people

}  // namespace lwsvm
