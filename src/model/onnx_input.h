// What a sample of an ONNX file's input looks like. Private to onnx_*.cc.
#pragma once

#include <functional>

#include "model/onnx_import.h"
#include "model/onnx_metadata.h"

namespace lwsvm {

// Without the batch. `free_size` is asked if the file leaves the size of its images free. Throws Error.
Shape sample_shape(const ImportState& state, const onnx::ValueInfoProto& input,
                   const std::function<ImageSize()>& free_size);

}  // namespace lwsvm
