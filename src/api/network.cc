#include "api/network_state.h"
#include "base/error.h"
#include "model/onnx_reader.h"
#include "model/onnx_tensors.h"
#include "model/onnx_writer.h"
#include "model/storage.h"
#include "model/summary.h"
#include "run/inspection.h"
#include "run/task.h"

namespace lwsvm {

Network network_of(const Model& model) {
  auto state = std::make_shared<Network::State>();
  state->model = from_onnx_bytes(to_onnx_bytes(model), "network", noted_output(model.info));
  return Network(std::move(state));
}

Network Network::load(const std::string& path, const std::string& output_name, int height, int width) {
  return Network(std::make_shared<const State>(State{read_onnx(path, output_name, {height, width}), path}));
}

Network Network::from_bytes(std::string_view bytes, const std::string& output_name, const std::string& name) {
  return Network(std::make_shared<const State>(State{from_onnx_bytes(bytes, name, output_name), ""}));
}

const Network::State& Network::state() const {
  if (!state_) fail("model", "the network is empty; load one, or train one");
  return *state_;
}

void Network::save(const std::string& path) const {
  write_onnx(state().model, path);
}

std::string Network::to_bytes() const {
  return to_onnx_bytes(state().model);
}

std::vector<LayerInfo> Network::layers() const {
  const Model& model = state().model;
  std::vector<LayerInfo> layers;
  const GraphSummary summary = describe(model.graph);
  for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
    const NodeSummary& node = summary.nodes[i];
    LayerInfo layer{node.name, node.kind, node.details, node.output_shape, node.parameters, false, "", {}};
    layer.has_weights = model.graph.nodes()[i].has_weights();
    if (layer.has_weights) {
      layer.why_not_refinable = run::why_not_refined(model, static_cast<int>(i));
      layer.tensors = tensor_names(model, static_cast<int>(i));
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::int64_t Network::parameters() const {
  return static_cast<std::int64_t>(state().model.graph.parameters().size());
}

int Network::classes() const {
  return run::class_count(state().model.graph);
}

std::vector<std::int64_t> Network::input_shape() const {
  const Graph& graph = state().model.graph;
  return graph.node(graph.inputs()[0]).shape;
}

std::vector<float> Network::weights(const std::string& layer) const {
  const Graph& graph = state().model.graph;
  const auto node = graph.find(layer);
  if (!node || !graph.node(*node).has_weights())
    fail("model", "there is no layer '{}' with weights; layers() tells which there are", layer);
  const ParameterRange range = graph.node(*node).trained;
  return {graph.parameters().begin() + range.begin, graph.parameters().begin() + range.end()};
}

std::vector<StoredArray> Network::tensors() const {
  std::vector<StoredArray> tensors;
  for (FileTensor& tensor : real_tensors(state().model))
    tensors.push_back({std::move(tensor.name), std::move(tensor.dims), std::move(tensor.values)});
  return tensors;
}

std::string Network::arch() const {
  return state().model.info.arch;
}

std::string Network::data() const {
  return state().model.info.data;
}

std::string Network::producer() const {
  return state().model.info.producer;
}

std::optional<double> Network::lambda() const {
  return state().model.info.lambda;
}

std::vector<std::string> Network::class_names() const {
  return state().model.info.class_names;
}

std::vector<std::string> Network::notes() const {
  return state().model.info.notes;
}

std::map<std::string, std::string> Network::metadata() const {
  return state().model.info.metadata;
}

void Network::set_metadata(const std::string& key, const std::string& value) {
  State changed = state();
  changed.path.clear();
  changed.model.info.metadata[key] = value;
  state_ = std::make_shared<const State>(std::move(changed));
}

}  // namespace lwsvm
