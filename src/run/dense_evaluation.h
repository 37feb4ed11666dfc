// `eval --dense`: the network run on whole images, as large as they are once their short side is resized.
//
//   scores(x) = 1/2 sum over x and its mirror image of the mean over places (model/fully_convolutional.h)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/threads.h"
#include "run/run_context.h"
#include "run/task.h"

namespace lwsvm::run {

// Images of any size, numbered, each with a label.
class WholeImages {
 public:
  // Photos of a part (train, val or test) of a folder or CSV file, resized as those of the task were; or, of
  // other data, the samples as they are.
  WholeImages(const std::string& photos, const Task& task, const std::string& part);

  std::int64_t size() const { return std::ssize(labels_); }
  const std::vector<std::int32_t>& labels() const { return labels_; }
  // C x H x W; from several threads.
  Shape read(std::int64_t index, std::vector<float>& pixels) const;

 private:
  const SampleView* view_ = nullptr;  // or
  std::vector<std::string> files_;
  PhotoGeometry geometry_;
  Shape shape_;
  std::vector<std::int32_t> labels_;
};

// `visit(index, scores)` from several threads, in no particular order. The network takes what the images are
// made of, in another size.
void dense_scores(const Graph& network, const WholeImages& images, const Threads& threads, Messages& messages,
                  const std::function<void(std::int64_t index, const float* scores)>& visit);

}  // namespace lwsvm::run
