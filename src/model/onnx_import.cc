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

void NodeImport::expect_inputs(int least, int most) const {
  if (inputs() < least || inputs() > most) {
    if (least == most) fail("{} takes {} inputs, not {}", op(), least, inputs());
    fail("{} takes {} to {} inputs, not {}", op(), least, most, inputs());
  }
}

int NodeImport::tensor(int i) const {
  const ImportedValue& found = value(i);
  if (found.node < 0)
    fail("input '{}' of {} is a constant, where lwsvm expects a value computed from the network's input",
         node_.input(i), op());
  return found.node;
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

Constant NodeImport::decoded(int i) const {
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
  Constant constant = decoded(i);
  if (constant.integral) fail("input '{}' of {} must hold real numbers, not integers", node_.input(i), op());
  return constant;
}

float NodeImport::real(int i) const {
  const Constant constant = reals(i);
  if (constant.count() != 1)
    fail("input '{}' of {} must be one number, not {}", node_.input(i), op(), constant.count());
  return constant.reals[0];
}

std::vector<std::int64_t> NodeImport::integers(int i) const {
  const Constant constant = decoded(i);
  if (!constant.integral) fail("input '{}' of {} must hold integers", node_.input(i), op());
  if (constant.dims.size() > 1 || constant.count() > kLongestList)
    fail("input '{}' of {} must be a list of at most {} integers", node_.input(i), op(), kLongestList);
  return constant.integers;
}

bool NodeImport::is_real_constant(int i) const {
  if (!has_input(i)) return false;
  const ImportedValue& found = value(i);
  return found.folded ? !found.folded->integral : found.tensor && is_real(found.tensor->data_type());
}

Constant NodeImport::spread(int i, const Shape& sample) const {
  Constant constant = reals(i);
  const Shape given = constant.dims;
  Shape dims = constant.dims;
  while (dims.size() > sample.size() && dims.front() == 1) dims.erase(dims.begin());  // the batch
  if (dims.size() < sample.size()) dims.insert(dims.begin(), sample.size() - dims.size(), 1);
  bool fits = dims.size() == sample.size();
  for (std::size_t k = 0; fits && k < dims.size(); ++k) fits = dims[k] == 1 || dims[k] == sample[k];
  if (!fits)
    fail("the constant '{}' of shape {} does not fit samples of shape {}", node_.input(i), to_string(given),
         to_string(sample));

  const bool channels_only = std::all_of(dims.begin() + 1, dims.end(), [](auto size) { return size == 1; });
  if (constant.count() == 1 || dims == sample || channels_only) return constant;

  const std::int64_t total = element_count(sample);
  charge(total * 12);
  std::vector<std::int32_t> from(static_cast<std::size_t>(total));
  Shape at(sample.size(), 0);
  for (std::int32_t& place : from) {
    std::int64_t source = 0;
    for (std::size_t k = 0; k < dims.size(); ++k) source = source * dims[k] + (dims[k] == 1 ? 0 : at[k]);
    place = static_cast<std::int32_t>(source);
    for (std::size_t k = at.size(); k-- > 0;) {
      if (++at[k] < sample[k]) break;
      at[k] = 0;
    }
  }
  return rearranged(constant, sample, from);
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

const onnx::TensorProto* NodeImport::tensor_attribute(const char* name) const {
  const auto* attribute = find(name, onnx::AttributeProto::TENSOR);
  return attribute && attribute->has_t() ? &attribute->t() : nullptr;
}

void NodeImport::emit(const std::function<std::shared_ptr<const Layer>()>& make,
                      std::vector<int> layer_inputs, const Parameters& parameters) {
  Graph& graph = state_.graph;
  const std::string name = state_.names.claim(node_.name().empty() ? op() : node_.name());
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
  ImportedValue result;
  result.node = index;
  bind(0, std::move(result));
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
