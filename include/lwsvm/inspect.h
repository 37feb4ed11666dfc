// What a network's layers are, which of them can be refined, and the memory that takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lwsvm/model.h"
#include "lwsvm/units.h"

namespace lwsvm {

struct InspectSettings {
  std::int64_t samples = 50000;  // of the training part that the memory is for
  ByteCount memory = "4G";       // RefineSettings::memory
};

// What a layer takes while it is open, in bytes, beside what any run of the network does.
struct OpenLayerMemory {
  std::string form;            // of the dual state: exact, labels, factored or explicit
  std::uint64_t inputs = 0;    // activations that are kept; 0 if they do not fit and are computed anew
  std::uint64_t patterns = 0;  // of the layers after it
  std::uint64_t slopes = 0;    // of the concave part
  std::uint64_t dual = 0;
  std::uint64_t weights = 0;  // buffers of the weights' size
  std::uint64_t total = 0;
  bool inputs_fit = true;
};

struct InspectedLayer {
  LayerInfo info;
  std::vector<std::string> inputs;        // layers that it reads
  std::int64_t flops = 0;                 // of one sample
  std::string linearity;                  // linear, piecewise linear, ...
  std::optional<OpenLayerMemory> memory;  // of layers that can be refined
};

struct Inspection {
  std::vector<InspectedLayer> layers;  // in the order they are run in
  std::int64_t parameters = 0, flops = 0;
  int weighted = 0, refinable = 0;   // layers with weights; those that can be refined
  std::uint64_t largest_memory = 0;  // of the layer that takes most
  std::uint64_t sweep_memory = 0;    // of sweeps over all that can be refined
  std::int64_t opset = 0;            // of ONNX
  std::string input;                 // what goes in, as far as the file tells
  std::string centre;                // of the regulariser: zero or start
  std::string start;                 // the file with that start, where there is one
};

Inspection inspect(const Network& network, const InspectSettings& settings = {});

}  // namespace lwsvm
