// What an ONNX file says of itself in its metadata.
#pragma once

#include <string>

#include "model/model.h"

namespace lwsvm {

// For files that leave the height and width of their images free; 0: as the file's metadata say, else 224.
struct ImageSize {
  int height = 0, width = 0;
};
constexpr const char* kPhotosKey = "lwsvm.photos";  // "resize=256 crop=224x224"
ImageSize noted_size(const ModelInfo& info);        // of the crop there; 0 x 0: none

constexpr const char* kOutputKey = "lwsvm.output";  // the output that was asked for
std::string noted_output(const ModelInfo& info);    // empty: none

// What we understand moves from the metadata into its field; what we do not stays as it is.
void understand_metadata(ModelInfo& info);

}  // namespace lwsvm
