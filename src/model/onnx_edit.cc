#include "model/onnx_edit.h"

#include <algorithm>

#include "base/error.h"
#include "model/onnx_reals.h"

namespace lwsvm {

OnnxIndex::OnnxIndex(const onnx::GraphProto& graph) {
  for (const auto& tensor : graph.initializer()) {
    initializers_.emplace(tensor.name(), &tensor);
    names_.insert(tensor.name());
  }
  for (const auto& input : graph.input()) {
    names_.insert(input.name());
    if (!initializers_.contains(input.name())) inputs_.insert(input.name());
  }
  for (const auto& node : graph.node()) {
    names_.insert(node.name());
    for (const auto& output : node.output()) {
      producers_.emplace(output, &node);
      names_.insert(output);
    }
  }
}

const onnx::NodeProto* OnnxIndex::producer(const std::string& value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? nullptr : found->second;
}

const onnx::TensorProto* OnnxIndex::initializer(const std::string& value) const {
  const auto found = initializers_.find(value);
  return found == initializers_.end() ? nullptr : found->second;
}

bool OnnxIndex::is_constant(const std::string& value) const {
  std::vector<std::string> open{value};
  std::unordered_set<std::string> seen;
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (name.empty() || !seen.insert(name).second || initializers_.contains(name)) continue;
    if (inputs_.contains(name)) return false;
    const onnx::NodeProto* node = producer(name);
    if (node == nullptr) return false;
    open.insert(open.end(), node->input().begin(), node->input().end());
  }
  return true;
}

OnnxEditor::OnnxEditor(onnx::ModelProto& model) : model_(model), graph_(*model.mutable_graph()) {
  for (const auto& entry : model.opset_import())
    if (entry.domain().empty() || entry.domain() == "ai.onnx") opset_ = entry.version();
  for (const auto& tensor : graph_.initializer()) taken_.insert(tensor.name());
  for (const auto& input : graph_.input()) taken_.insert(input.name());
  for (const auto& node : graph_.node()) {
    taken_.insert(node.name());
    for (const auto& output : node.output()) taken_.insert(output);
  }
}

std::string OnnxEditor::free_name(const std::string& wanted) {
  std::string name = wanted;
  for (int k = 2; !taken_.insert(name).second; ++k) name = fmt::format("{}.{}", wanted, k);
  return name;
}

onnx::NodeProto& OnnxEditor::append(const std::string& op, const std::vector<std::string>& inputs,
                                    const std::string& output) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(op);
  node.set_name(output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

onnx::NodeProto& OnnxEditor::add_last(const std::string& op, const std::vector<std::string>& inputs,
                                      const std::string& output) {
  return append(op, inputs, output);
}

onnx::NodeProto& OnnxEditor::add_first(const std::string& op, const std::vector<std::string>& inputs,
                                       const std::string& output) {
  append(op, inputs, output);
  auto& nodes = *graph_.mutable_node();
  for (int i = nodes.size() - 1; i > first_; --i) nodes.SwapElements(i, i - 1);
  return nodes[first_++];
}

void OnnxEditor::add_constant(const std::string& name, int type, const Shape& dims,
                              const std::vector<float>& values) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t size : dims) tensor.add_dims(size);
  tensor.set_raw_data(std::string(values.size() * real_bytes(type), '\0'));
  for (std::size_t i = 0; i < values.size(); ++i) set_real(tensor, i, nearest_real(type, values[i]));
  constexpr std::int64_t kInitializersAlone = 4;  // before it each of them was an input, too
  if (model_.ir_version() >= kInitializersAlone) return;
  onnx::ValueInfoProto& input = *graph_.add_input();
  input.set_name(name);
  auto& described = *input.mutable_type()->mutable_tensor_type();
  described.set_elem_type(type);
  for (const std::int64_t size : dims) described.mutable_shape()->add_dim()->set_dim_value(size);
}

void OnnxEditor::redirect(const std::string& from, const std::string& to) {
  for (auto& node : *graph_.mutable_node())
    for (auto& input : *node.mutable_input())
      if (input == from) input = to;
}

namespace {

template <typename List, typename Keep>
void keep_only(List& list, const Keep& keep) {
  int kept = 0;
  for (int i = 0; i < list.size(); ++i) {
    if (!keep(list[i])) continue;
    if (i != kept) list.SwapElements(i, kept);
    ++kept;
  }
  list.DeleteSubrange(kept, list.size() - kept);
}

// What a node reads, also within graphs of its own.
void add_inputs(const onnx::NodeProto& node, std::vector<std::string>& values) {
  values.insert(values.end(), node.input().begin(), node.input().end());
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g())
      for (const auto& inner : attribute.g().node()) add_inputs(inner, values);
    for (const auto& graph : attribute.graphs())
      for (const auto& inner : graph.node()) add_inputs(inner, values);
  }
}

}  // namespace

void OnnxEditor::remove_unneeded() {
  std::unordered_map<std::string, const onnx::NodeProto*> producers;
  for (const auto& node : graph_.node())
    for (const auto& output : node.output()) producers.emplace(output, &node);
  std::unordered_set<std::string> values;
  std::unordered_set<const onnx::NodeProto*> nodes;
  std::vector<std::string> open;
  for (const auto& output : graph_.output()) open.push_back(output.name());
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (name.empty() || !values.insert(name).second) continue;
    const auto found = producers.find(name);
    if (found != producers.end() && nodes.insert(found->second).second) add_inputs(*found->second, open);
  }
  std::unordered_set<std::string> initializers;
  for (const auto& tensor : graph_.initializer()) initializers.insert(tensor.name());
  keep_only(*graph_.mutable_node(), [&](const onnx::NodeProto& node) { return nodes.contains(&node); });
  keep_only(*graph_.mutable_initializer(),
            [&](const onnx::TensorProto& tensor) { return values.contains(tensor.name()); });
  keep_only(*graph_.mutable_input(), [&](const onnx::ValueInfoProto& input) {
    return values.contains(input.name()) || !initializers.contains(input.name());
  });
  keep_only(*graph_.mutable_value_info(),
            [&](const onnx::ValueInfoProto& value) { return values.contains(value.name()); });
}

void set_int(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

}  // namespace lwsvm
