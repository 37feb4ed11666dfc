// A network and what is known about it: what a model file holds.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/graph.h"

namespace lwsvm {

struct ModelInfo {
  std::string name;                      // the ONNX graph's name
  std::string arch;                      // what build_network was given: "mnist", "conv12x5-relu-..."
  std::optional<double> lambda;          // the regularisation it was trained with
  std::string data;                      // the data set it was trained on
  int classes = 0;                       // 0: not known
  std::vector<std::string> class_names;  // empty: not known
  std::string input;                     // what goes in, in words: "1x28x28, raw pixels 0..255"
  std::string producer;                  // which program wrote the file that was read: "pytorch 1.13"
  std::int64_t opset = 0;                // of that file; 0: none was read
  std::vector<std::string> notes;        // what its user should know about that file

  // Whatever else the file says, key by key; kept when it is written again.
  std::map<std::string, std::string> metadata;
};

struct OnnxSource;

struct Model {
  Graph graph;
  ModelInfo info;
  std::shared_ptr<const OnnxSource> source;  // the file it was read from; write_onnx gives it back
};

}  // namespace lwsvm
