#include "lwsvm/inspect.h"

#include "api/network_state.h"
#include "run/centre.h"
#include "run/inspection.h"

namespace lwsvm {
namespace {

OpenLayerMemory to_public(const LayerMemory& memory) {
  return {memory.form,     memory.inputs_fit ? memory.inputs : 0,
          memory.patterns, memory.slopes,
          memory.blocks,   memory.weights,
          memory.total(),  memory.inputs_fit};
}

}  // namespace

Inspection inspect(const Network& network, const InspectSettings& settings) {
  const Model& model = network.state().model;
  const run::Inspection found =
      run::inspect_network(model, settings.samples, parse_size(settings.memory.text(), "memory"));
  Inspection result;
  const std::vector<LayerInfo> layers = network.layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const NodeSummary& node = found.summary.nodes[i];
    InspectedLayer layer{layers[i], node.inputs, node.flops, std::string(to_string(node.linearity)), {}};
    if (found.layers[i] && found.layers[i]->obstacle.empty())
      layer.memory = to_public(found.layers[i]->memory);
    result.layers.push_back(std::move(layer));
  }
  result.parameters = found.summary.parameters;
  result.flops = found.summary.flops;
  result.weighted = found.weighted;
  result.refinable = found.refinable;
  result.largest_memory = found.largest;
  result.sweep_memory = found.sweeps;
  result.opset = model.info.opset;
  result.input = run::expected_input(model);
  result.centre = run::centred_at_start(model.info) ? "start" : "zero";
  result.start = run::noted_start(model.info);
  return result;
}

}  // namespace lwsvm
