// Models from ONNX files: those of write_onnx bit for bit, and others as far as their operators are known.
//
// Bad files throw Error with the file and the node; they never crash, and memory is bounded by the file's
// size. Nodes that the output does not depend on are left out. Nodes without a name are named after their
// operator, and equal names are made unique (conv, conv_2).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "model/model.h"
#include "model/onnx_metadata.h"

namespace lwsvm {

// `output` names the scores where a file has several outputs; empty: what the file remembers (kOutputKey), or
// the only one that can be scores, as where scikit-learn writes labels and probabilities.
// `free` is for files that leave the size of their images free.
Model read_onnx(const std::filesystem::path& path, const std::string& output = "", ImageSize free = {});
Model from_onnx_bytes(std::string_view bytes, const std::string& file,  // `file` is for messages
                      const std::string& output = "", ImageSize free = {});

}  // namespace lwsvm
