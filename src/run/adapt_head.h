// The new last layer: a multi-class SVM on features that do not change, with lambda by validation.
//
//   min over W, b   lambda/2 (||W||^2 + ||b||^2) + 1/N sum_i max_y [ Delta(y, y_i) + s_y - s_{y_i} ],
//   s = W f(x_i) + b
//
// lambda: a grid relative to the mean of ||f||^2, from the largest down; of those whose accuracy is within a
// standard error of the best the (geometric) middle of the largest and the smallest. Where the data have no
// validation part of their own the training set is cut into five folds, twice: each is judged by a layer that
// has not seen it, and every sample counts, which matters where there are few. Transformed copies of an image
// stay in its fold, and are not judged; one of them takes part in the search, all do when the layer is
// solved.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/margin_matrix.h"
#include "base/sample_source.h"
#include "engine/threads.h"
#include "net/graph.h"
#include "ssvm/multiclass_svm.h"

namespace lwsvm::run {

// What the last layer reads: row t images + i is copy t of image i.
struct HeadRows {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  std::int64_t width = 0, images = 0;

  std::int64_t rows() const { return std::ssize(labels); }
  const float* row(std::int64_t i) const { return values.data() + i * width; }
};

// The values of a node, for all samples of the source. Throws Error if one is not a number.
HeadRows head_rows(const Graph& graph, int node, const SampleSource& source, const Threads& threads);
HeadRows joined(const HeadRows& a, const HeadRows& b);  // images of a, then of b; b has as many copies

struct HeadOptions {
  bool balance = false;  // judged by the mean of the classes' accuracies
  int batch = 200;
  std::uint64_t seed = 0;
  std::function<bool()> stop_requested;
};

struct HeadTrial {
  double lambda = 0, accuracy = 0;
};

struct HeadChoice {
  double lambda = 0, accuracy = 0;  // on samples that the layer has not seen
  int folds = 1;
  std::vector<HeadTrial> trials;  // the largest lambda first
};

// With `validation`, on that; without, by folds.
HeadChoice choose_head_lambda(const HeadRows& training, const HeadRows* validation,
                              const MarginMatrix& margins, const HeadOptions& options,
                              const Threads& threads);

struct SolvedHead {
  LinearModel model;
  double relative_gap = 0;
  int epochs = 0;
};
SolvedHead solve_head(const HeadRows& training, double lambda, const MarginMatrix& margins,
                      const HeadOptions& options, const Threads& threads);

// Margins that grow with a class's rarity: Delta(y, c) = (mean count / count of c)^(1/2), of mean 1 over the
// samples. A class weight in front of the loss does nothing once the training samples are separated, as they
// are with thousands of features and few samples; a larger margin moves the boundary away from the rare
// class then, too [LST03].
MarginMatrix balanced_margins(const MarginMatrix& margins, const std::vector<std::int32_t>& labels);

}  // namespace lwsvm::run
