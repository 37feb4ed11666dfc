// All operators that are known, node by node: who reads it, or what to say of one that nobody can. Private to
// onnx_*.cc and their tests.
#pragma once

#include <string>
#include <vector>

#include "model/onnx_import.h"

namespace lwsvm {

// Sorted; docs/onnx.md says what is supported of each.
std::vector<std::string> known_operators();

// What cannot be read at all is named before anything else is found wanting: shapes that are computed for
// an LSTM, or for attention, are not what matters. Throws Error.
void refuse_unknown(ImportState& state, const onnx::GraphProto& graph, const std::vector<int>& order);

// Reads the node if its value is a constant; false: it is none.
bool import_constant(ImportState& state, const onnx::NodeProto& proto);
void import_node(ImportState& state, const onnx::NodeProto& proto);

}  // namespace lwsvm
