#include "model/onnx_tensors.h"

#include <algorithm>

#include "model/onnx_reals.h"
#include "model/onnx_source.h"

namespace lwsvm {
namespace {

// Of tensors that nothing uses, nobody has checked whether their numbers fill their shape.
bool is_whole(const FileTensor& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0 || (dim > 0 && count > tensor.values.size() / static_cast<std::uint64_t>(dim))) return false;
    count *= static_cast<std::uint64_t>(dim);
  }
  return count == tensor.values.size();
}

}  // namespace

std::vector<FileTensor> real_tensors(const Model& model) {
  std::vector<FileTensor> tensors;
  if (!model.source) return tensors;
  const onnx::ModelProto proto = with_parameters(*model.source, model.graph);
  for (const onnx::TensorProto& stored : proto.graph().initializer()) {
    if (!is_real(stored.data_type())) continue;
    FileTensor tensor{stored.name(), {stored.dims().begin(), stored.dims().end()}, reals_of(stored)};
    if (is_whole(tensor)) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<std::string> tensor_names(const Model& model, int node) {
  std::vector<std::string> names;
  if (!model.source) return names;
  const ParameterRange& trained = model.graph.node(node).trained;
  for (const StoredParameter& stored : model.source->parameters) {
    const bool ours =
        !stored.statistic && stored.range.begin >= trained.begin && stored.range.end() <= trained.end();
    if (!ours || !stored.origin.known() || stored.origin.tensor->name().empty()) continue;
    if (std::ranges::find(names, stored.origin.tensor->name()) == names.end())
      names.push_back(stored.origin.tensor->name());
  }
  return names;
}

}  // namespace lwsvm
