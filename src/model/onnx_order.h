// Which nodes of an ONNX graph are needed, and in which order they run. Private to onnx_*.cc.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/onnx_import.h"

namespace lwsvm {

using Producers = std::unordered_map<std::string, int>;  // value -> the node that makes it

// Throws Error if two make the same.
Producers find_producers(const ImportState& state, const onnx::GraphProto& graph);

struct NeededNodes {
  std::vector<bool> nodes;
  std::unordered_set<std::string> inputs;  // values that no node makes
};

// Only what leads to the output is read: a file may hold training nodes, or heads that nobody asks for.
NeededNodes needed_for(const std::string& output, const onnx::GraphProto& graph, const Producers& producers);

// Nodes after those they read, otherwise as in the file. Notes who reads what (ImportState::readers); throws
// Error if something is read that nobody makes.
std::vector<int> run_order(ImportState& state, const onnx::GraphProto& graph, const Producers& producers,
                           const std::vector<bool>& needed);

}  // namespace lwsvm
