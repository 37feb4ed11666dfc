// The file that a model was read from, and where its parameters lie there. Private to onnx_*.cc.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "model/model.h"
#include "model/onnx_origin.h"

namespace lwsvm {

struct StoredParameter {
  std::string layer, name;  // in the graph: "fc1", "weight"
  bool statistic = false;
  ParameterRange range;  // of the graph's parameters() or statistics()
  Origin origin;
  std::vector<float> computed;  // without an origin: what the file makes of its constants
  std::string obstacle;         // why no other numbers can be put there; empty if they can
};

struct OnnxSource {
  onnx::ModelProto proto;
  std::vector<onnx::TensorProto*> tensors;  // all_tensors(proto)
  std::vector<StoredParameter> parameters;
  std::string output;  // the value that holds the scores
};

// Every tensor of the file, in an order that depends on its structure only.
std::vector<onnx::TensorProto*> all_tensors(onnx::ModelProto& proto);

// The file with the graph's numbers in the place of its own; numbers that are the same keep their bits.
// Throws Error if a number changed that cannot be put there.
onnx::ModelProto with_parameters(const OnnxSource& source, const Graph& graph);

}  // namespace lwsvm
