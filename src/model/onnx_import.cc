#include "model/onnx_import.h"

#include <algorithm>

#include "model/onnx_reals.h"

namespace lwsvm {
namespace {

constexpr int kLongestList = 64;  // of a shape, of pads, ...

}  // namespace

std::string shown(const onnx::NodeProto& node) {
  if (!node.name().empty()) return fmt::format("node '{}'", node.name());
  if (node.output_size() > 0)
    return fmt::format("the {} node that makes '{}'", node.op_type(), node.output(0));
  return fmt::format("a {} node", node.op_type());
}

std::string NodeImport::place() const {
  return fmt::format("{}: {}", state_.file, shown(node_));
}

const ImportedValue& NodeImport::value(int i) const {
  if (!has_input(i)) fail("input {} of {} is missing", i, op());
  const auto found = state_.values.find(node_.input(i));
  if (found == state_.values.end())
    fail("its input '{}' is an output of another node that lwsvm does not compute", node_.input(i));
  return found->second;
}

void NodeImport::expect_inputs(int min, int max) const {
  if (inputs() < min || inputs() > max) {
    if (min == max) fail("{} takes {} inputs, not {}", op(), min, inputs());
    fail("{} takes {} to {} inputs, not {}", op(), min, max, inputs());
  }
}

const ImportedValue& NodeImport::computed(int i) const {
  const ImportedValue& found = value(i);
  if (found.node < 0)
    fail("input '{}' of {} is a constant, where lwsvm expects a value computed from the network's input",
         node_.input(i), op());
  return found;
}

int NodeImport::tensor(int i) const {
  return computed(i).node;
}

bool NodeImport::is_computed(int i) const {
  if (!has_input(i)) return false;
  const auto found = state_.values.find(node_.input(i));
  return found != state_.values.end() && found->second.node >= 0;
}

bool NodeImport::is_foldable(int i) const {
  if (!has_input(i)) return true;
  const auto found = state_.values.find(node_.input(i));
  return found != state_.values.end() && found->second.is_constant();
}

std::vector<int> NodeImport::tensors() const {
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(inputs()));
  for (int i = 0; i < inputs(); ++i) all.push_back(tensor(i));
  return all;
}

void NodeImport::charge(std::int64_t bytes) const {
  if (bytes > state_.budget)
    fail("the file uses its constants so often that the network would be many times its size");
  state_.budget -= bytes;
}

Constant NodeImport::constant(int i) const {
  const ImportedValue& found = value(i);
  if (!found.is_constant())
    fail("input '{}' of {} must be a constant of the file, but it is computed", node_.input(i), op());
  if (found.folded) {
    charge(static_cast<std::int64_t>(found.folded->count()) * 8);
    return *found.folded;
  }
  const std::string where = fmt::format("{}: constant '{}'", state_.file, node_.input(i));
  charge(checked_elements(*found.tensor, where) * 8);
  return decode(*found.tensor, where);
}

Constant NodeImport::reals(int i) const {
  Constant found = constant(i);
  if (found.integral) fail("input '{}' of {} must hold real numbers, not integers", node_.input(i), op());
  return found;
}

float NodeImport::real(int i) const {
  const Constant found = reals(i);
  if (found.count() != 1)
    fail("input '{}' of {} must be one number, not {}", node_.input(i), op(), found.count());
  return found.reals[0];
}

std::vector<std::int64_t> NodeImport::sizes(int i) const {
  const Constant list = constant(i);
  if (!list.integral) fail("input '{}' of {} must hold integers", node_.input(i), op());
  if (list.dims.size() > 1 || list.count() > kLongestList)
    fail("input '{}' of {} must be a list of at most {} integers", node_.input(i), op(), kLongestList);
  return list.integers;
}

std::vector<std::int64_t> NodeImport::integers(int i) const {
  std::vector<std::int64_t> list = sizes(i);
  for (std::int64_t& value : list) {
    if (value != kBatchSize) continue;
    if (!state_.fixed_batch)
      fail("input '{}' of {} depends on the size of the batch; lwsvm follows that only through Reshape",
           node_.input(i), op());
    value = *state_.fixed_batch;
  }
  return list;
}

Shape NodeImport::full_shape(int i) const {
  Shape full = shape(i);
  if (batch_axis(i) >= 0) full.insert(full.begin() + batch_axis(i), kBatchSize);
  return full;
}

std::int64_t NodeImport::axis(std::int64_t given, std::int64_t rank) const {
  if (given < -rank || given >= rank) fail("{} names axis {} of {}", op(), given, rank);
  return given < 0 ? given + rank : given;
}

std::size_t NodeImport::sample_axis(int i, std::int64_t given) const {
  const std::int64_t found = axis(given, rank(i)), batch = batch_axis(i);
  if (found == batch)
    fail("{} along axis {} is not supported: it would mix the samples of a batch", op(), given);
  return static_cast<std::size_t>(batch >= 0 && found > batch ? found - 1 : found);
}

void NodeImport::expect_batch_first(int i) const {
  if (batch_axis(i) != 0) fail("{} needs the batch as its first axis", op());
}

bool NodeImport::is_real_constant(int i) const {
  if (!has_input(i)) return false;
  const ImportedValue& found = value(i);
  return found.folded ? !found.folded->integral : found.tensor && is_real(found.tensor->data_type());
}

Constant NodeImport::spread(int i, const Shape& sample, int batch) const {
  Constant constant = reals(i);
  const Shape given = constant.dims;
  Shape dims = constant.dims;
  const std::size_t rank = sample.size() + (batch >= 0);
  if (has("broadcast") && has("axis")) {  // up to opset 6: B begins at that axis of A
    const auto first = static_cast<std::size_t>(axis(integer("axis", 0), static_cast<std::int64_t>(rank)));
    while (first + dims.size() < rank) dims.push_back(1);
  }
  while (dims.size() > rank && dims.front() == 1) dims.erase(dims.begin());
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  bool fits = dims.size() == rank;
  if (fits && batch >= 0) {
    fits = dims[static_cast<std::size_t>(batch)] == 1;
    dims.erase(dims.begin() + batch);
  }
  for (std::size_t k = 0; fits && k < dims.size(); ++k) fits = dims[k] == 1 || dims[k] == sample[k];
  if (!fits)
    fail("the constant '{}' of shape {} does not fit samples of shape {}", node_.input(i), to_string(given),
         to_string(sample));

  const bool channels_only = std::all_of(dims.begin() + 1, dims.end(), [](auto size) { return size == 1; });
  if (constant.count() == 1 || dims == sample || channels_only) return constant;

  charge(element_count(sample) * 12);
  return rearranged(constant, sample, spread_indices(dims, sample));
}

const onnx::AttributeProto* NodeImport::find(const char* name,
                                             std::optional<onnx::AttributeProto::AttributeType> type) const {
  for (const auto& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    // Files of IR 1 and 2 may leave the type out.
    if (type && attribute.has_type() && attribute.type() != *type &&
        attribute.type() != onnx::AttributeProto::UNDEFINED)
      fail("its attribute '{}' is of the wrong type", name);
    return &attribute;
  }
  return nullptr;
}

std::int64_t NodeImport::integer(const char* name, std::int64_t otherwise) const {
  const auto* attribute = find(name, onnx::AttributeProto::INT);
  return attribute ? attribute->i() : otherwise;
}

float NodeImport::real(const char* name, float otherwise) const {
  const auto* attribute = find(name, onnx::AttributeProto::FLOAT);
  return attribute ? attribute->f() : otherwise;
}

std::string NodeImport::text(const char* name, const std::string& otherwise) const {
  const auto* attribute = find(name, onnx::AttributeProto::STRING);
  return attribute ? attribute->s() : otherwise;
}

std::vector<std::int64_t> NodeImport::integers(const char* name, std::vector<std::int64_t> otherwise) const {
  const auto* attribute = find(name, onnx::AttributeProto::INTS);
  if (!attribute) return otherwise;
  if (attribute->ints_size() > kLongestList)
    fail("its attribute '{}' has {} values", name, attribute->ints_size());
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<float> NodeImport::reals(const char* name) const {
  const auto* attribute = find(name, onnx::AttributeProto::FLOATS);
  if (!attribute) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

const onnx::TensorProto* NodeImport::tensor_attribute(const char* name) const {
  const auto* attribute = find(name, onnx::AttributeProto::TENSOR);
  return attribute && attribute->has_t() ? &attribute->t() : nullptr;
}

void NodeImport::emit(const Make& make, std::vector<int> layer_inputs, const Parameters& parameters,
                      std::optional<int> batch_axis) {
  const int added = add(make, std::move(layer_inputs), parameters);
  if (!batch_axis) {
    batch_axis = 0;
    for (int i = inputs(); i-- > 0;)
      if (has_input(i) && value(i).node >= 0) batch_axis = value(i).batch_axis;
  }
  emit_node(added, *batch_axis);
}

void NodeImport::emit_node(int node, int batch_axis, int output) {
  ImportedValue result;
  result.node = node;
  result.batch_axis = batch_axis;
  bind(output, std::move(result));
}

int NodeImport::add(const Make& make, std::vector<int> layer_inputs, const Parameters& parameters,
                    const char* suffix) {
  Graph& graph = state_.graph;
  const std::string name = state_.names.claim((node_.name().empty() ? op() : node_.name()) + suffix);
  int index = -1;
  try {
    index = graph.add(name, make(), std::move(layer_inputs));
  } catch (
      const Error& error) {  // "[net] Conv has weights for ... (layer 'conv1')": here the file is the place
    std::string problem = error.what();
    if (problem.starts_with("[onnx] ")) throw;
    if (problem.starts_with("[net] ")) problem.erase(0, 6);
    fail("{}", problem.substr(0, problem.rfind(" (layer '")));
  }
  const Node& added = graph.node(index);
  if (added.shape.empty())
    fail("{} leaves one number of a sample, where lwsvm needs a score for each class", op());
  if (!checked_count(added.shape, kLargestValue)) fail("its output {} is too large", to_string(added.shape));
  LWSVM_CHECK(parameters.size() == added.parameters.size());
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const Parameter& parameter = added.parameters[k];
    const auto& [parameter_name, constant] = parameters[k];
    const std::vector<float>& values = constant.reals;
    LWSVM_CHECK(parameter.name == parameter_name);
    if (static_cast<std::int64_t>(values.size()) != parameter.range.size)
      fail("its {} has {} values where {} are needed", parameter_name, values.size(), parameter.range.size);
    auto& store = parameter.role == Role::statistic ? graph.statistics() : graph.parameters();
    std::copy(values.begin(), values.end(), store.begin() + parameter.range.begin);
    state_.parameters.push_back({index, k, constant.origin});
  }
  return index;
}

void NodeImport::pass_on(int i) {
  bind(0, value(i));
}

void NodeImport::bind_constant(Constant constant) {
  ImportedValue result;
  result.folded = std::make_shared<const Constant>(std::move(constant));
  bind(0, std::move(result));
}

void NodeImport::defer() {
  ImportedValue result;
  result.deferred = &node_;
  bind(0, std::move(result));
}

void NodeImport::bind(int output, ImportedValue result) {
  if (output >= node_.output_size() || node_.output(output).empty()) fail("it has no output");
  state_.values[node_.output(output)] = std::move(result);
}

bool NodeImport::completed_by(const char* op) const {
  if (node_.output_size() < 1 || node_.output(0) == state_.output) return false;
  const auto readers = state_.readers.find(node_.output(0));
  if (readers == state_.readers.end() || readers->second.size() != 1) return false;
  const onnx::NodeProto& reader = *readers->second[0];
  if (reader.op_type() != op || !(reader.domain().empty() || reader.domain() == "ai.onnx") ||
      reader.input_size() != 2)
    return false;
  const bool first = reader.input(0) == node_.output(0);
  if (!first && std::string_view(op) == "Div") return false;
  const auto other = state_.values.find(reader.input(first ? 1 : 0));
  return other != state_.values.end() && other->second.is_constant();
}

std::optional<NodeImport> NodeImport::deferred(int i, const char* op) const {
  const ImportedValue& found = value(i);
  if (found.deferred == nullptr || found.deferred->op_type() != op) return std::nullopt;
  return NodeImport(state_, *found.deferred);
}

}  // namespace lwsvm
