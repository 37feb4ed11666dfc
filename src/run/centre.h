// Where a network's regulariser is centred, and what the written file remembers of it, so that its objective
// can be computed again (metadata of the ONNX file, beside lwsvm.lambda):
//
//   lwsvm.centre           zero or start; a file with a lambda and without this is centred at zero
//   lwsvm.layers           the layers that have a part in it, a JSON list of names; absent: all
//   lwsvm.regulariser      its value lambda/2 sum_l ||w_l - c_l||^2 in this file
//   lwsvm.weights_sha256   of those layers' weights, for which that value holds
//   lwsvm.start            the file with the centre's weights, seen from this file's folder
//   lwsvm.start_sha256     of that file
//
// The last four only where the centre is a start, and the last two only where that was a file.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/messages.h"
#include "model/model.h"
#include "net/regulariser.h"

namespace lwsvm::run {

struct Centre {
  bool at_start = false;       // else at zero
  std::filesystem::path file;  // with its weights; empty: it was in memory only
  std::string sha256;          // of that file
  std::vector<float> weights;  // laid out as the graph's parameters; empty: zero
};

// Of a network that is to be refined; `option` is start (the network as read), zero, a file, or empty: as the
// file remembers it, else zero for networks of ours and the start for those of others. Says what it finds
// where that is not as a user would expect.
Centre choose_centre(const std::string& option, const Model& model, std::span<const int> layers,
                     const std::filesystem::path& input, Messages& messages);
// As the metadata say, without the weights, which came from `file`.
Centre noted_centre(const ModelInfo& info, const std::filesystem::path& file);
// As it is remembered, or true for a file of another program that remembers nothing.
bool centred_at_start(const ModelInfo& info);
std::string noted_start(const ModelInfo& info);  // the file at which it is centred; empty: zero, or itself

// Into the metadata: before a run, and what depends on the weights, before they are written. Where it is not
// known which file they go to, `output` is empty and the start's path absolute.
void note_centre(const Centre& centre, const Regulariser& regulariser, const std::filesystem::path& output,
                 Model& model);
void note_regulariser(const Regulariser& regulariser, Model& model);
void forget_centre(ModelInfo& info);  // all layers, around zero

// The regulariser of a network as its file remembers it, with another lambda or centre (zero or a file) where
// given. Throws Error where the weights are not those that the value in the file is for and the centre is not
// found.
double regulariser_in_file(const Model& model, const std::filesystem::path& path, double lambda,
                           const std::string& option, Messages& messages);

}  // namespace lwsvm::run
