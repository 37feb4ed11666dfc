// Tensors whose data lies in files beside the model. Private to onnx_*.cc.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lwsvm {

// Takes the data of all such tensors into the model, so that it is whole by itself, and stays so when it is
// written. Returns how many bytes that were. Throws Error if a file is not there, is too short, or does not
// lie within `folder`, links followed; `model` begins the message.
std::uint64_t embed_external_data(const std::vector<onnx::TensorProto*>& tensors,
                                  const std::filesystem::path& folder, const std::string& model);

}  // namespace lwsvm
