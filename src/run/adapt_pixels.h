// How the pixels of a network were normalised whose classes are not those of the data: its answers cannot be
// right or wrong, and so do not tell.
//
// Every known normalisation is tried on the same samples. What counts first is how well the classes can be
// told apart by the features that it leads to: a linear SVM on four fifths of the samples, judged on the
// rest, five times. Among those that cannot be told from the best (McNemar's test, as in
// model/normalization_search.h) counts how sure the old last layer is of its own classes: a network that sees
// its accustomed pixels recognises something in most photos.
#pragma once

#include <string>
#include <vector>

#include "base/messages.h"
#include "data/normalization.h"
#include "engine/threads.h"
#include "model/onnx_new_head.h"
#include "run/task.h"

namespace lwsvm::run {

struct PixelChoice {
  std::string name;              // "imagenet", or the numbers
  NormalizationOptions options;  // not given: the network carries its own
};

struct PixelTrial {
  std::string name;
  double accuracy = 0;    // of the SVM, on samples it has not seen
  double confidence = 0;  // of the old last layer: mean of log max_y softmax_y
  bool contends = true;
};

struct PixelFindings {
  std::vector<PixelTrial> trials;
  std::size_t taken = 0;
  std::int64_t samples = 0;
  bool clear = false;  // it is the only one that contends
};

// `original` is the network as read, `adapted` the same with its new last layer.
PixelFindings try_normalizations(const Model& original, const Model& adapted,
                                 const std::vector<KnownNormalization>& candidates, const DataSet& data,
                                 std::uint64_t seed, const Threads& threads);

// As the settings say, or the file, or as trying shows, which is said in a line.
PixelChoice choose_pixels(const Model& original, const Model& adapted, const PixelSettings& pixels,
                          const DataSet& data, std::uint64_t seed, const Threads& threads,
                          Messages& messages);

}  // namespace lwsvm::run
