// What a network is worth.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lwsvm/data.h"
#include "lwsvm/model.h"

namespace lwsvm {

// Accuracies are shares of 1, of the parts that there are.
struct Quality {
  double objective = 0;  // regulariser + mean loss on the training part
  double train_accuracy = 0;
  std::optional<double> val_accuracy, test_accuracy;

  double accuracy() const { return test_accuracy.value_or(train_accuracy); }
};

std::string to_string(const Quality& quality);  // "objective 0.05850  train 99.29%  val 98.56%  ..."

struct EvaluateSettings {
  TaskSettings task{};
  PixelSettings pixels;
  std::string part = "test";     // test, train or val
  bool dense = false;            // on whole images, scores averaged over places and the mirror image
  std::string photos;            // then: the folder or file that data of photos were loaded from
  std::string loss;              // svm or ce; empty: that of the network's training
  std::optional<double> lambda;  // absent: that of the network
  std::string centre;            // of the regulariser: zero, or an ONNX file; empty: as the network remembers
  int threads = 0;               // 0: all cores
  std::function<void(const std::string&)> on_message;  // what a person should know
};

// One class's part of an evaluation.
struct ClassAccuracy {
  std::string name;  // as the data or the network have it, else its number
  std::int64_t samples = 0, correct = 0;
};

struct EvaluateSummary {
  double objective = 0;    // loss + regulariser
  double loss = 0;         // mean over the samples
  double regulariser = 0;  // as the network remembers it
  double lambda = 0;
  double accuracy = 0;  // correct / samples
  std::int64_t samples = 0, correct = 0;
  std::optional<double> top5;  // share of the samples whose class is among the best five; of more classes
  std::vector<ClassAccuracy> classes;  // all of them
};

EvaluateSummary evaluate(const Network& network, const Data& data, const EvaluateSettings& settings = {});

// The scores of every sample of the part, one row of classes() numbers after the other.
std::vector<float> scores(const Network& network, const Data& data, const EvaluateSettings& settings = {});

}  // namespace lwsvm
