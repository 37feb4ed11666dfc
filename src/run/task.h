// What a network is asked to do: a data set, its split, and the loss. Shared by train, eval and refine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/team.h"
#include "data/augment.h"
#include "data/dataset.h"
#include "data/normalization.h"
#include "data/sample_view.h"
#include "data/split.h"
#include "model/model.h"
#include "net/loss.h"
#include "run/photo_input.h"

namespace lwsvm::run {

struct TaskOptions {
  std::string data = "fashion-mnist";
  std::string data_dir;
  std::string validation;                   // empty: by data set
  std::optional<std::uint64_t> split_seed;  // absent: 0
  std::string loss = "svm";
  std::string delta;           // CSV of the margin matrix; empty: `margins`
  std::vector<float> margins;  // the matrix, row = predicted; empty: 0-1
  std::string augment;         // "flip,shift2"; empty: nothing
  PhotoOptions photos;

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // run/settings.h
    visit("data", self.data);
    visit("data_dir", self.data_dir);
    visit("val", self.validation);
    visit("split_seed", self.split_seed);
    visit("loss", self.loss);
    visit("delta", self.delta);
    visit("augment", self.augment);
    visit("margins", self.margins, std::vector<float>());
    PhotoOptions::fields(self.photos, visit);
  }
};

bool is_given(const PixelSettings& pixels);
// Throws Error where they contradict each other.
NormalizationOptions normalization_options(const PixelSettings& pixels, const DataSet& data);

struct SplitChoice {
  std::size_t validation = 0;
  std::uint64_t seed = 0;
};
// The split in a network's metadata: which samples it has not been trained on.
void note_split(const SplitChoice& choice, ModelInfo& info);

// For a network, which may be null: see load_options. Throws Error.
std::shared_ptr<const DataSet> load_for(const Model* model, const TaskOptions& options,
                                        const RunContext& context);

struct Task {
  // Loads the data, unless they are given; throws Error. Where the options say nothing about the split, that
  // of `info` is found again: a network of ours that was trained on the same data says in its file which
  // samples it has not seen.
  explicit Task(const TaskOptions& options, const ModelInfo* info = nullptr,
                std::shared_ptr<const DataSet> given = nullptr);

  Task(const Task&) = delete;  // its parts look at each other
  Task& operator=(const Task&) = delete;

  const SampleView& part(
      const std::string& split) const;  // "train", "val" or "test"; throws if there is none
  const SampleView* test_part() const { return test.size() > 0 ? &test : nullptr; }

  const std::shared_ptr<const DataSet> holder;
  const DataSet& data;
  SplitChoice choice;
  Split split;
  SampleView train, validation, test;
  std::vector<SampleView> crops;  // of the training part
  AugmentedSource training;       // the training part with its transformed copies: what the objective is over
  Loss loss;
};

// The data of a task with the pixels of this rank's training, validation and test samples only.
std::shared_ptr<const DataSet> own_samples(const Task& whole, const Team& team);

LossKind parse_loss(const std::string& name);

// Throws Error, naming both shapes or class counts, unless the network can take the data; also if a weight is
// not a number.
void check_fit(const Model& model, const DataSet& data);
void check_network(const Model& model, const DataSet& data);  // the same but for the shapes
int class_count(const Graph& graph);

}  // namespace lwsvm::run
