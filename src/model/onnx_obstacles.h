// Which parameters of an imported graph can be changed in the file, and why the others cannot. Private to
// onnx_*.cc.
#pragma once

#include <vector>

#include "model/onnx_import.h"
#include "model/onnx_source.h"

namespace lwsvm {

std::vector<StoredParameter> stored_parameters(const ImportState& state);

}  // namespace lwsvm
