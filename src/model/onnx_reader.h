// Models from ONNX files: those of write_onnx bit for bit, and others as far as their operators are known.
//
// Bad files throw Error with the file and the node; they never crash, and memory is bounded by the file's
// size. Nodes that the output does not depend on are left out. Nodes without a name are named after their
// operator, and equal names are made unique (conv, conv_2).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace lwsvm {

// For files that leave the height and width of their images free; 0: as the file's metadata say, else 224.
struct ImageSize {
  int height = 0, width = 0;
};
constexpr const char* kPhotosKey = "lwsvm.photos";  // of the metadata: "resize=256 crop=224x224"
ImageSize noted_size(const ModelInfo& info);        // of the crop there; 0 x 0: none

// `output` names the scores where a file has several outputs; empty: what the file remembers (kOutputKey), or
// the only one that can be scores, as where scikit-learn writes labels and probabilities.
Model read_onnx(const std::filesystem::path& path, const std::string& output = "", ImageSize free = {});
Model from_onnx_bytes(std::string_view bytes, const std::string& file,  // `file` is for messages
                      const std::string& output = "", ImageSize free = {});

constexpr const char* kOutputKey = "lwsvm.output";  // of the metadata: the output that was asked for
std::string noted_output(const ModelInfo& info);    // empty: none

// Every operator that is known, sorted; docs/onnx.md says what is supported of each.
std::vector<std::string> known_operators();

}  // namespace lwsvm
